import PushmillEngine
import Glibc
import PushmillSimulation

/// Runs seeds one after another and reports line by line: `run SEED`, `found SEED TEXT`, `done SEED DIGEST`.
struct Worker {
    private let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    /// Runs the body with the planted fault that the arguments name, if any.
    private func plant(_ body: () -> Int32) -> Int32 {
        #if PLANTED_FAULTS
            PlantedFault.$planted.withValue(arguments.fault) { body() }
        #else
            body()
        #endif
    }

    func work() -> Int32 { plant { runSeeds() } }

    private func runSeeds() -> Int32 {
        let end = monotonicSeconds() + Double(arguments.seconds)
        var seed = arguments.seed
        var count = 0
        while monotonicSeconds() < end, arguments.runs == 0 || count < arguments.runs {
            tell("run \(seed)")
            let run = Run(Scenario(seed: seed, faults: arguments.faults, events: arguments.events))
            for finding in run.play().prefix(1) { tell("found \(seed) \(finding)") }
            tell("done \(seed) \(String(run.timeline.history.digest, radix: 16))")
            seed &+= arguments.stride
            count += 1
        }
        return 0
    }

    /// Prints one seed's history.
    func showHistory() -> Int32 { plant { tellSeed() } }

    private func tellSeed() -> Int32 {
        let run = Run(
            Scenario(seed: arguments.seed, faults: arguments.faults, events: arguments.events), isHistoryKept: true)
        let findings = run.play()
        for line in run.timeline.history.lines { tell(line) }
        tell("seed \(arguments.seed), digest \(String(run.timeline.history.digest, radix: 16))")
        for finding in findings { tell("finding: \(finding)") }
        return findings.isEmpty ? 0 : 1
    }
}
