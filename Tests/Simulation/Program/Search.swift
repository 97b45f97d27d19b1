import PushmillEngine
import Glibc
import PushmillSimulation

/// Spreads seeds over processes: a process that traps or hangs is a finding like any other.
struct Search {
    private static let longestRun = 30.0
    private let arguments: Arguments
    private let start = monotonicSeconds()

    init(_ arguments: Arguments) { self.arguments = arguments }

    func search() -> Int32 {
        if arguments.showsHistory { return Worker(arguments).showHistory() }
        if arguments.isSelfTest { return testSearch() }
        tell("seed \(arguments.seed)")
        let result = search(
            fault: arguments.fault, seconds: arguments.seconds, runs: arguments.runs
        ) { _ in false }
        let minutes = (monotonicSeconds() - start) / 60
        tell(
            "\(result.runs) runs, \(Int(Double(result.runs) / max(minutes, 1e-9))) a minute, "
                + "\(result.findings.count) with findings")
        // If no run came to its end, nothing was checked.
        return result.findings.isEmpty && result.runs > 0 ? 0 : 1
    }

    /// Runs each planted fault, or the one that is named, until it is found. Findings that also occur without a fault
    /// do not count: neither those of a seed that has one anyway, nor a kind that is no more frequent with the fault.
    private func testSearch() -> Int32 {
        let runs = arguments.runs == 0 ? 2000 : arguments.runs
        let base = search(fault: nil, seconds: 3600, runs: runs) { _ in false }
        tell("without a fault: \(base.findings.count) of \(base.runs) runs have findings")
        for (kind, count) in base.kinds().sorted(by: { $0.key < $1.key }) { tell("    \(count): \(kind)") }
        var missed = 0
        for fault in arguments.fault.map({ [$0] }) ?? PlantedFault.allCases {
            let result = search(fault: fault, seconds: 600, runs: runs) { base.standsOut($0) != nil }
            if let kind = base.standsOut(result), let first = result.first(kind) {
                tell(
                    "\(fault.rawValue): found within \(result.runs + 1) runs, \(result.findings.count) of them, "
                        + "seed \(first.seed): \(first.text)")
            } else {
                missed += 1
                tell("\(fault.rawValue): NOT found in \(result.runs) runs, \(result.findings.count) with findings")
                for (kind, count) in result.kinds() { tell("    \(count): \(kind)") }
            }
        }
        return missed == 0 ? 0 : 1
    }

    private func options(_ fault: PlantedFault?) -> [String] {
        ["--faults", "\(arguments.faults)", "--events", "\(arguments.events)"]
            + (fault.map { ["--plant", $0.rawValue] } ?? [])
    }

    private struct Result {
        var runs = 0
        var findings: [(seed: UInt64, text: String)] = []

        /// The text of a finding without its numbers.
        private static func kind(of text: String) -> String {
            let words = text.split(separator: " ").map { $0.contains(where: \.isNumber) ? "#" : String($0) }
            return words.joined(separator: " ").prefix { $0 != ":" && $0 != "(" }.description
        }

        func kinds(without seeds: Set<UInt64> = []) -> [String: Int] {
            var kinds: [String: Int] = [:]
            for finding in findings where !seeds.contains(finding.seed) {
                kinds[Self.kind(of: finding.text), default: 0] += 1
            }
            return kinds
        }

        func first(_ kind: String) -> (seed: UInt64, text: String)? {
            findings.first { Self.kind(of: $0.text) == kind }
        }

        /// A kind that is clearly more frequent in `other`, with the planted fault, than in this result without it.
        func standsOut(_ other: Result) -> String? {
            let known = kinds()
            let counted = other.kinds(without: Set(findings.map(\.seed)))
            return counted.sorted { $0.key < $1.key }.first { kind, count in
                let expected = Double(known[kind] ?? 0) / Double(max(1, runs)) * Double(other.runs)
                return Double(count) >= (findings.isEmpty ? 1 : 2 + expected + 4 * expected.squareRoot())
            }?.key
        }
    }

    private func search(
        fault: PlantedFault?, seconds: Int, runs: Int, until isEnough: (Result) -> Bool
    ) -> Result {
        let end = monotonicSeconds() + Double(seconds)
        var result = Result()
        var workers: [WorkerProcess] = []
        let stride = UInt64(arguments.jobs)
        for job in 0..<stride {
            workers.append(WorkerProcess(seed: arguments.seed &+ job, stride: stride, options(fault)))
        }
        for worker in workers { worker.start(seconds: seconds) }
        var nextProgress = monotonicSeconds() + 5
        while monotonicSeconds() < end, runs == 0 || result.runs < runs {
            wait(for: workers)
            for worker in workers {
                for line in worker.takeLines() { take(line, of: worker, into: &result) }
                if worker.hasEnded {
                    if let seed = worker.running { found(seed, "the process ended: \(worker.how)", &result) }
                    worker.start(seconds: max(1, Int(end - monotonicSeconds())))
                } else if let seed = worker.running, monotonicSeconds() - worker.since > Self.longestRun {
                    found(seed, "the run does not end", &result)
                    worker.kill()
                    worker.start(seconds: max(1, Int(end - monotonicSeconds())))
                }
            }
            if isEnough(result) { break }
            guard !arguments.isSelfTest, monotonicSeconds() >= nextProgress else { continue }
            nextProgress += 5
            tell("\(Int(monotonicSeconds() - start)) s: \(result.runs) runs, \(result.findings.count) with findings")
        }
        for worker in workers { worker.kill() }
        return result
    }

    private func take(_ line: String, of worker: WorkerProcess, into result: inout Result) {
        let parts = line.split(separator: " ", maxSplits: 2)
        guard parts.count > 1, let seed = UInt64(parts[1]) else { return }
        switch parts[0] {
        case "run": worker.began(seed)
        case "found": found(seed, parts.count > 2 ? String(parts[2]) : "", &result)
        case "done":
            result.runs += 1
            worker.finished(seed)
        default: break
        }
    }

    private func found(_ seed: UInt64, _ text: String, _ result: inout Result) {
        result.findings.append((seed, text))
        if !arguments.isSelfTest { tell("finding: seed \(seed): \(text)") }
    }

    private func wait(for workers: [WorkerProcess]) {
        var descriptors = workers.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        poll(&descriptors, nfds_t(descriptors.count), 500)
    }
}
