import PushmillBenchmarks
import PushmillPayload
import PushmillStores

extension Command {
    /// The benchmarks, by the names that the command takes.
    private static let benches: [(name: String, rows: @Sendable () async throws -> [String])] = [
        ("payload", { try BenchTable.rows(Measurement.payload()) }),
        (
            "chain",
            {
                let whole = try await inFolder { try await Measurement.wholeChain(in: $0) }
                return BenchTable.rows(Measurement.chain() + whole)
            }
        ),
        ("decrypt", { try BenchTable.rows(Measurement.decrypt()) }),
        ("localize", { try BenchTable.rows(Measurement.localize()) + [BenchTable.row(CatalogLoading())] }),
        ("contact", { try await BenchTable.rows(inFolder { try Measurement.contacts(in: $0) }) }),
        ("attachment", { BenchTable.rows(Measurement.attachment()) }),
        ("badge", { try BenchTable.rows([Measurement.badge()]) }),
        ("restore", { try await inFolder { try BenchTable.rows(CountMeasurements(in: $0)) } }),
    ]
    private static let names = Option.operands(
        "NAME", "\(benches.map(\.name).joined(separator: ", ")); default: all")

    /// For measurements that need files.
    private static func inFolder<Result: Sendable>(
        _ body: @Sendable (String) async throws -> Result
    ) async throws -> Result {
        let folder = try ScratchFolder("pushmill-bench")
        defer { withExtendedLifetime(folder) {} }
        return try await body(folder.path)
    }

    static let bench = Command(
        name: "bench", summary: "Measures the cost per message in this process, by stage",
        details: """
            Times are CPU times of the thread, from the best of several batches; allocations
            are those of the Swift runtime, references its retains and releases. Loading a
            catalog and restoring counts are done once, in wall-clock time. Use a release
            build.
            """,
        options: [names]
    ) { invocation in
        let wanted = try invocation.values(names, .choice(benches.map(\.name)) { $0 })
        #if DEBUG
            invocation.console.error("warning: figures of a debug build mean nothing: use swift build -c release")
        #endif
        invocation.console.output(BenchTable.heading)
        for bench in benches where wanted.isEmpty || wanted.contains(bench.name) {
            do {
                for row in try await bench.rows() { invocation.console.output(row) }
            } catch {
                throw ProgramError.internalFailure("cannot measure \(bench.name): \(error)")
            }
        }
        return .success
    }
}

enum BenchTable {
    static let heading = row("", "messages/s", "us", "allocations", "references")

    static func rows(_ measurements: [Measurement]) -> [String] { measurements.map(row) }

    /// A catalog is loaded once, not for each message.
    static func row(_ loading: CatalogLoading) -> String {
        let name = "localize, a catalog of 70 x 2,000 keys loaded"
        return "\(name): \(decimal(loading.seconds, places: 2)) s, \(decimal(loading.megabytes, places: 1)) MB"
    }

    /// A restore happens when a partition is assigned.
    static func rows(_ counts: CountMeasurements) -> [String] {
        let restored = decimal(counts.restoreSeconds, places: 2)
        let rows = [
            ("badge, a count in memory", counts.hot), ("badge, a count in the file", counts.cold),
            ("badge, a count that is new", counts.new),
        ]
        return ["restore, 1000000 counts into memory and file: \(restored) s"]
            + rows.map { name, microseconds in
                row(name, "\(Int(1e6 / max(microseconds, 0.001)))", decimal(microseconds, places: 3), "", "")
            }
    }

    static func row(_ measurement: Measurement) -> String {
        row(
            measurement.name, "\(Int(1e9 / max(measurement.nanoseconds, 1)))",
            decimal(measurement.nanoseconds / 1000, places: 3), decimal(measurement.allocations, places: 2),
            decimal(measurement.references, places: 1))
    }

    private static func row(
        _ name: String, _ rate: String, _ time: String, _ allocations: String, _ references: String
    ) -> String {
        let columns = [(rate, 11), (time, 9), (allocations, 12), (references, 11)]
        return columns.reduce(name.padded(to: 43) + " ") { line, column in
            "\(line) \(column.0.aligned(to: column.1))"
        }
    }

    private static func decimal(_ number: Double, places: Int) -> String {
        let scale = (0..<places).reduce(1) { scale, _ in scale * 10 }
        let scaled = Int((number * Double(scale)).rounded())
        return "\(scaled / scale)." + "\(scaled % scale)".aligned(to: places, by: "0")
    }
}
