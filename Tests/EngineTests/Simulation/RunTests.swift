import PushmillEngine
import PushmillSimulation
import PushmillTestSupport
import Testing

@Suite("Simulated runs")
struct RunTests {
    @Test("A seed repeats its run exactly", arguments: [1, 2, 4] as [UInt64])
    func repeats(seed: UInt64) {
        let first = Run(Scenario(seed: seed), isHistoryKept: true)
        let second = Run(Scenario(seed: seed), isHistoryKept: true)
        expect(first.play(), is: second.play())
        expect(first.timeline.history.digest, is: second.timeline.history.digest)
        expect(first.timeline.history.lines, is: second.timeline.history.lines)
        #expect(first.timeline.history.lines.count > 100)
    }

    @Test("A run has the same digest whether or not its history is kept")
    func digestAlone() {
        let (kept, other) = (Run(Scenario(seed: 5), isHistoryKept: true), Run(Scenario(seed: 5)))
        expect(kept.play(), is: other.play())
        expect(kept.timeline.history.digest, is: other.timeline.history.digest)
        #expect(other.timeline.history.lines.isEmpty)
    }

    @Test("A run without faults repeats nothing and is never late", arguments: 1...24 as ClosedRange<UInt64>)
    func orderly(seed: UInt64) {
        let findings = Run(Scenario(seed: seed, faults: 0)).play()
        #expect(findings.isEmpty, "deploy/simulate --history --faults 0 --seed \(seed)")
    }

    @Test(
        "Nothing is repeated while instances restart one after the other",
        arguments: 1...24 as ClosedRange<UInt64>)
    func restarts(seed: UInt64) {
        var scenario = Scenario(seed: seed, faults: 0)
        for index in scenario.events.indices {
            if scenario.events[index].behaviour == .refusedByBrokers { scenario.events[index].behaviour = .immediate }
            scenario.events[index].letterRefuser = nil
        }
        // Every message ends before its partition must be given back: it may take two deadlines.
        scenario.settings.drain = .milliseconds(3500)
        for index in 0..<6 {
            let fault = Fault.restart(instance: index % scenario.instances, shards: 1 + (index + Int(seed)) % 3)
            scenario.faults.append((.seconds(2) * UInt64(index + 1), fault))
        }
        #expect(scenario.isCalm)
        expect(Run(scenario).play(), is: [])
    }

    @Test("Under faults nothing is lost, doubled, reordered or miscounted", arguments: 0..<8 as Range<UInt64>)
    func clean(eighth: UInt64) {
        for seed in eighth * 30 + 1...eighth * 30 + 30 {
            let findings = Run(Scenario(seed: seed)).play()
            #expect(findings.isEmpty, "deploy/simulate --history --seed \(seed)")
        }
    }

    /// A topic was recreated before anything of it was taken: a record had the offset of one that brokers had refused.
    /// A shard that had lost a partition recreated its counts file over the new owner's.
    @Test("Seeds that once found a bug have no findings", arguments: [979_802_110, 2_983_043_234] as [UInt64])
    func mended(seed: UInt64) {
        var scenario = Scenario(seed: seed)
        // No dead letter was refused in these searches.
        for index in scenario.events.indices { scenario.events[index].letterRefuser = nil }
        expect(Run(scenario).play(), is: [])
    }

    @Test(
        "Nothing is lost, doubled, reordered or miscounted while a group mixes two releases",
        arguments: 0..<3 as Range<UInt64>)
    func mixed(third: UInt64) {
        var formats: Set<String> = []
        for seed in third * 10 + 1...third * 10 + 10 {
            var scenario = Scenario(seed: seed)
            scenario.mixesReleases = true
            let run = Run(scenario)
            let findings = run.play()
            #expect(findings.isEmpty, "seed \(seed) with both releases")
            formats.formUnion(run.formats)
        }
        expect(formats, is: ["commit 1", "commit 2", "count 1", "count 2"])
    }

    #if PLANTED_FAULTS
        @Test(
            "A planted fault is found within 40 seeds that are clean without it",
            arguments: [
                PlantedFault.commitBeforeAcknowledgement, .offsetOfAbortedTransactionKept, .instanceOwnCounts,
                .wholeBatchDeadLettered,
            ])
        func planted(fault: PlantedFault) {
            let isFound = (1...40 as ClosedRange<UInt64>).contains { seed in
                PlantedFault.$planted.withValue(fault) { !Run(Scenario(seed: seed)).play().isEmpty }
            }
            #expect(isFound)
        }
    #endif
}
