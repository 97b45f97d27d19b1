import FoundationEssentials
import PushmillTelemetry
import PushmillTestSupport
import Testing

@Suite("The reference page")
struct ReferenceTests {
    private static let top = #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" }

    /// The cells of the table rows below a heading of the page, without backticks.
    private func rows(below heading: String) throws -> [[String]] {
        let page = try String(contentsOfFile: "\(Self.top)/deploy/REFERENCE.md", encoding: .utf8)
        let section = try #require(page.split(separator: "\n## ").first { $0.hasPrefix("\(heading)\n") })
        return section.split(separator: "\n").filter { $0.hasPrefix("| ") }.map { row in
            row.dropFirst(2).dropLast(2).split(separator: " | ", omittingEmptySubsequences: false)
                .map { $0.filter { $0 != "`" }.trimmed }
        }
    }

    private func sources() throws -> [String] {
        let folder = "\(Self.top)/Sources"
        return try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.hasSuffix(".swift") }
            .map { try String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8) }
    }

    /// Every metric that a service may expose.
    private var exposition: [Substring] {
        let registry = MetricRegistry()
        let metrics = ServiceMetrics(
            registry: registry, stages: ["decrypt"], outcomes: ["modified"], deadLetterReasons: ["not-json"])
        registry.addProcess(log: Log(), version: "1")
        registry.addWork()
        registry.addReloads(ReloadCounts()) { ["/etc/keys.json"] }
        _ = (metrics.consumed(topic: "in"), metrics.messages.stages[0].results("ok"))
        return String(decoding: registry.render(.prometheus), as: UTF8.self).split(separator: "\n")
    }

    @Test("The page has every metric with type, labels and meaning, and no other")
    func metrics() throws {
        let exposition = exposition
        var served: [String: [String]] = [:]
        for line in exposition {
            if let help = line.wholeMatch(of: /# HELP ([a-z_]+) (.*)/) {
                served[String(help.output.1)] = ["", "", help.output.2.filter { $0 != "`" }]
            } else if let type = line.wholeMatch(of: /# TYPE ([a-z_]+) (.*)/) {
                served[String(type.output.1)]?[0] = String(type.output.2)
            } else if let sample = line.firstMatch(of: #/^([a-z_]+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? /#) {
                let labels = (sample.output.2 ?? "").matches(of: /([a-z]+)="/).map { $0.output.1 }.filter { $0 != "le" }
                served[String(sample.output.1)]?[1] = labels.joined(separator: ", ")
            }
        }
        #expect(served.count > 35)
        let told = try rows(below: "Metrics").filter { $0.count == 5 && $0[0].contains("_") }
        expect(Set(told.map { $0[0] }).count, is: told.count)
        expect(Set(told.map { $0[0] }).symmetricDifference(served.keys), is: [], "on the page or in the code alone")
        for row in told { expect(served[row[0]], is: [row[1], row[3], row[4]], "\(row[0])") }
        for row in told {
            let unit = ["seconds", "bytes"].first { row[0].contains("_\($0)") } ?? row[2]
            #expect(row[2] == unit && !unit.isEmpty, "\(row[0])")
        }
        // The check above would miss a metric that the code names and this exposition lacks.
        let named = try sources().flatMap {
            $0.matches(of: /MetricDescription\(\s*\.[a-z]+,\s*"([a-z_]+)"/).map(\.output.1)
        }
        #expect(named.count > 15)
        expect(Set(named.map { String($0) }).subtracting(served.keys), is: [], "addWork of these tests lacks them")
    }

    @Test("The page has every metric that the runbook mentions")
    func runbook() throws {
        let runbook = try String(contentsOfFile: "\(Self.top)/deploy/prometheus/RUNBOOK.md", encoding: .utf8)
        let told = Set(try rows(below: "Metrics").map { $0[0] })
        let asked = Set(runbook.matches(of: /pushmill_[a-z_]+/).map { String($0.output) })
        #expect(asked.count > 10)
        expect(asked.subtracting(told), is: [])
    }

    @Test("The page has every log message at info and above, with its level, and no other")
    func messages() throws {
        let said = try sources().flatMap { source in
            source.matches(of: /[^A-Za-z]log\.(error|warning|info)\(\s*"([^"]+)"/)
                .map { "\($0.output.1): \($0.output.2)" }
                + source.matches(of: /[^A-Za-z]log\.log\([^"]*?,\s*"([^"]+)"/).map { "any: \($0.output.1)" }
        }
        let told = try rows(below: "Log messages").dropFirst().filter { !$0[0].hasPrefix("-") }
        #expect(told.count > 70)
        expect(Set(told.map { "\($0[0]): \($0[1])" }).symmetricDifference(said), is: [])
        for row in told { #expect(row.count == 3 && row[2].count > 20, "\(row)") }
    }
}

extension StringProtocol {
    fileprivate var trimmed: String {
        var text = self[...]
        while text.first == " " { text = text.dropFirst() }
        while text.last == " " { text = text.dropLast() }
        return String(text)
    }
}
