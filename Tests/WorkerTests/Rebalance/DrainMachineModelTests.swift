import TestSupport
import Testing
import Worker

@Suite("Rebalances in any order")
struct DrainMachineModelTests {
    /// A consumer as strict as librdkafka: it refuses to give back what it was not assigned, and to be assigned what it
    /// has.
    struct Run: ~Copyable {
        typealias Machine = DrainMachine<Int, ContinuousClock.Instant>

        private var machine = Machine()
        private var random: SeededGenerator
        private var now = ContinuousClock.now
        /// What the group thinks is ours.
        private var granted: Set<Int> = []
        private var assigned: Set<Int> = []
        private var lost: Set<Int> = []
        private var reads: [(partitions: [Int], number: Int)] = []
        private var attempt: Int?
        private(set) var commits = 0
        private(set) var abandoned = 0

        init(seed: UInt64) { random = SeededGenerator(seed: seed) }

        private mutating func some(of partitions: Set<Int>) -> [Int] {
            partitions.sorted().filter { _ in random.once(in: 2) }
        }

        mutating func step() throws {
            now += .milliseconds(Int.random(in: 0..<400, using: &random))
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                let partitions = some(of: Set(0..<8).subtracting(granted))
                granted.formUnion(partitions)
                lost.subtract(partitions)
                try perform(machine.assigned(partitions, now: now))
            case 1:
                let partitions = some(of: granted)
                granted.subtract(partitions)
                try perform(machine.revoked(partitions, bound: .seconds(1), now: now))
            case 2 where random.once(in: 4):
                let partitions = (random.once(in: 2) ? granted : granted.union(machine.leaving)).sorted()
                granted = []
                lost.formUnion(partitions)
                try perform(machine.lost(partitions))
            case 3:
                try perform(machine.drained(now: now))
            case 4 where attempt != nil:
                let outcome: CommitOutcome = random.once(in: 3) ? .retry : random.once(in: 2) ? .accepted : .refused
                try perform(machine.commitEnded(outcome, attempt: attempt ?? 0, now: now))
            case 5, 6:
                try readPositions()
            default:
                try perform(machine.hitDeadline(now: now))
            }
        }

        mutating func readPositions() throws {
            guard !reads.isEmpty else { return }
            let read = reads.remove(at: Int.random(in: 0..<reads.count, using: &random))
            let wanted = machine.positionsRead(of: read.partitions, number: read.number)
            try #require(assigned.isDisjoint(with: wanted))
            assigned.formUnion(wanted)
        }

        private mutating func perform(_ action: Machine.Action) throws {
            switch action {
            case .none:
                return
            case .assign(let partitions, let number):
                try #require(assigned.isDisjoint(with: partitions))
                reads.append((partitions, number))
                try perform(machine.next(now: now))
            case .drain(let partitions):
                try #require(!partitions.isEmpty && assigned.isSuperset(of: partitions))
            case .commit(let partitions, let attempt, let abandoning):
                try #require(assigned.isSuperset(of: partitions) && lost.isDisjoint(with: partitions))
                self.attempt = attempt
                commits += 1
                abandoned += abandoning ? 1 : 0
            case .unassign(let partitions, let unstarted):
                try #require(assigned.isDisjoint(with: unstarted))
                try #require(Set(partitions).subtracting(unstarted).isSubset(of: assigned))
                assigned.subtract(partitions)
                try perform(machine.next(now: now))
            }
        }

        /// With time and answers everything comes to what the group last said.
        mutating func settle() throws {
            while !reads.isEmpty { try readPositions() }
            while let deadline = machine.deadline {
                now = max(now, deadline)
                try perform(machine.hitDeadline(now: now))
                while !reads.isEmpty { try readPositions() }
            }
            try #require(assigned == granted)
        }
    }

    @Test("What is assigned in the end is what the group said last", arguments: 1...20 as ClosedRange<UInt64>)
    func random(seed: UInt64) throws {
        var run = Run(seed: seed)
        for step in 0..<6_000 {
            try run.step()
            if step % 500 == 499 { try run.settle() }
        }
        let (commits, abandoned) = (run.commits, run.abandoned)
        #expect(commits > 50 && abandoned > 5)
    }
}
