import TestSupport
import Testing
import Worker

@Suite("The way to the end")
struct ShutdownMachineTests {
    typealias Machine = ShutdownMachine<ContinuousClock.Instant>
    typealias Action = Machine.Action

    private let start = ContinuousClock.now

    private func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

    /// Terminated at the start with a grace of 20 s, and the intake stopped with this much under way.
    private func machine(unfinished: Int, unacknowledged: Int, expecting action: Action) -> Machine {
        var machine = Machine(grace: .seconds(20))
        expectEqual(machine.isRunning, true)
        expectEqual(machine.deadline, nil)
        expectEqual(machine.terminate(now: start), .stopIntake)
        expectEqual(machine.isRunning, false)
        expectEqual(machine.intakeStopped(unfinished: unfinished, unacknowledged: unacknowledged), action)
        return machine
    }

    @Test("Stop intake, drain, flush, commit, leave, exit")
    func inOrder() {
        var machine = machine(unfinished: 3, unacknowledged: 2, expecting: .none)
        expectEqual(machine.progress(unfinished: 1, unacknowledged: 0), .none)
        expectEqual(machine.progress(unfinished: 0, unacknowledged: 2), .flush(abandoning: false))
        expectEqual(machine.progress(unfinished: 0, unacknowledged: 1), .none)
        expectEqual(machine.progress(unfinished: 0, unacknowledged: 0), .commit)
        expectEqual(machine.commitEnded(.accepted, now: at(1)), .leave)
        expectEqual(machine.left(), .exit)
        #expect(machine.deadline == nil)
        expectEqual(machine.terminate(now: at(2)), .none)
    }

    @Test("An idle worker commits at once")
    func idle() {
        var machine = machine(unfinished: 0, unacknowledged: 0, expecting: .commit)
        expectEqual(machine.commitEnded(.accepted, now: start), .leave)
    }

    @Test("What comes too early or too late changes nothing")
    func outOfTurn() {
        var machine = Machine(grace: .seconds(20))
        expectEqual(machine.intakeStopped(unfinished: 0, unacknowledged: 0), .none)
        expectEqual(machine.progress(unfinished: 0, unacknowledged: 0), .none)
        expectEqual(machine.commitEnded(.accepted, now: start), .none)
        expectEqual(machine.left(), .none)
        expectEqual(machine.hitDeadline(now: at(100)), .none)
        expectEqual(machine.isRunning, true)
        expectEqual(machine.terminate(now: start), .stopIntake)
        expectEqual(machine.progress(unfinished: 0, unacknowledged: 0), .none)
        expectEqual(machine.hitDeadline(now: at(15)), .none)
    }

    @Test("What hangs is given up in time for the rest to be flushed and committed")
    func hanging() {
        var machine = machine(unfinished: 1, unacknowledged: 0, expecting: .none)
        #expect(machine.deadline == at(16))
        expectEqual(machine.hitDeadline(now: at(16)), .flush(abandoning: true))
        #expect(machine.deadline == at(18))
        expectEqual(machine.progress(unfinished: 1, unacknowledged: 0), .commit)
        expectEqual(machine.commitEnded(.accepted, now: at(17)), .leave)
        #expect(machine.deadline == at(20))
        expectEqual(machine.hitDeadline(now: at(20)), .exit)
    }

    @Test(
        "A poller that never answers, brokers that never acknowledge, a group that never lets go: the end comes in time"
    )
    func nothingAnswers() {
        var machine = Machine(grace: .seconds(20))
        expectEqual(machine.terminate(now: start), .stopIntake)
        var actions: [Action] = []
        while let deadline = machine.deadline {
            #expect(deadline <= at(20))
            actions.append(machine.hitDeadline(now: deadline))
        }
        #expect(actions == [.flush(abandoning: true), .commit, .leave, .exit])
    }

    @Test("A commit that meets a rebalance is repeated within the grace")
    func retry() {
        var machine = machine(unfinished: 0, unacknowledged: 0, expecting: .commit)
        var (now, commits) = (at(18), 1)
        expectEqual(machine.commitEnded(.retry, now: now), .none)
        #expect(machine.deadline == start + .milliseconds(18_100))
        while let deadline = machine.deadline {
            now = deadline
            let action = machine.hitDeadline(now: now)
            guard action == .commit else {
                #expect(action == .leave)
                break
            }
            commits += 1
            expectEqual(machine.commitEnded(.retry, now: now), .none)
        }
        #expect(commits == 10 && now == at(19))
    }

    @Test("A commit that was refused for good is not repeated")
    func refused() {
        var machine = machine(unfinished: 0, unacknowledged: 0, expecting: .commit)
        expectEqual(machine.commitEnded(.refused, now: start), .leave)
    }

    @Test("A second signal leaves at once, a third does not wait for that")
    func secondSignal() {
        var machine = machine(unfinished: 5, unacknowledged: 5, expecting: .none)
        expectEqual(machine.terminate(now: at(1)), .leave)
        expectEqual(machine.progress(unfinished: 0, unacknowledged: 0), .none)
        expectEqual(machine.commitEnded(.accepted, now: at(1)), .none)
        expectEqual(machine.terminate(now: at(1)), .exit)
        expectEqual(machine.left(), .none)
    }

    @Test("After a second signal the group has two seconds to hear of it, and never more than the grace")
    func secondGrace() {
        for (second, end) in [(1, 3), (19, 20)] {
            var machine = machine(unfinished: 5, unacknowledged: 5, expecting: .none)
            expectEqual(machine.terminate(now: at(second)), .leave)
            expectEqual(machine.deadline, at(end))
            expectEqual(machine.hitDeadline(now: at(end)), .exit)
        }
    }

    @Test(
        "Partitions revoked meanwhile drain no longer than the rest, and not at all once the last commit is under way")
    func drainBounds() {
        var machine = Machine(grace: .seconds(20))
        #expect(machine.drainBound(.seconds(5), now: start) == .seconds(5))
        expectEqual(machine.terminate(now: start), .stopIntake)
        #expect(machine.drainBound(.seconds(5), now: at(2)) == .seconds(5))
        expectEqual(machine.intakeStopped(unfinished: 1, unacknowledged: 1), .none)
        #expect(machine.drainBound(.seconds(5), now: at(14)) == .seconds(2))
        #expect(machine.drainBound(.seconds(5), now: at(30)) == .zero)
        expectEqual(machine.hitDeadline(now: at(16)), .flush(abandoning: true))
        #expect(machine.drainBound(.seconds(5), now: at(17)) == .seconds(1))
        expectEqual(machine.progress(unfinished: 0, unacknowledged: 0), .commit)
        #expect(machine.drainBound(.seconds(5), now: at(17)) == .zero)
    }

    @Test("A revocation in the middle of a shutdown is drained, committed and given back beside it")
    func revocationDuringShutdown() {
        var shutdown = machine(unfinished: 2, unacknowledged: 0, expecting: .none)
        var drain = DrainMachine<Int, ContinuousClock.Instant>()
        expectEqual(drain.assigned([1, 2], now: start), .assign([1, 2], number: 1))
        expectEqual(drain.positionsRead(of: [1, 2], number: 1), [1, 2])
        let bound = shutdown.drainBound(.seconds(5), now: at(14))
        expectEqual(drain.revoked([1], bound: bound, now: at(14)), .drain([1]))
        expectEqual(drain.hitDeadline(now: at(16)), .commit([1], attempt: 1, abandoning: true))
        expectEqual(shutdown.hitDeadline(now: at(16)), .flush(abandoning: true))
        expectEqual(drain.commitEnded(.accepted, attempt: 1, now: at(16)), .unassign([1], unstarted: []))
        expectEqual(shutdown.progress(unfinished: 0, unacknowledged: 0), .commit)
        expectEqual(shutdown.commitEnded(.accepted, now: at(16)), .leave)
        // Leaving revokes the rest: committed already, so it goes at once.
        expectEqual(drain.revoked([2], bound: shutdown.drainBound(.seconds(5), now: at(16)), now: at(16)), .drain([2]))
        expectEqual(drain.hitDeadline(now: at(16)), .commit([2], attempt: 2, abandoning: true))
    }

    @Test("Whatever happens in whatever order, each step is taken once, in order, and within the grace")
    func random() throws {
        let rank: [Action: Int] = [
            .stopIntake: 0, .flush(abandoning: false): 1, .flush(abandoning: true): 1, .commit: 2, .leave: 3, .exit: 4,
        ]
        for seed in 0..<3_000 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            var machine = Machine(grace: .seconds(20))
            var (now, last) = (start, -1)
            while last < 4 {
                now = last < 0 ? start : now + .milliseconds(Int.random(in: 0..<2_000, using: &random))
                var actions: [Action] = []
                // As the caller must: no deadline is slept through.
                while let deadline = machine.deadline, deadline <= now {
                    actions.append(machine.hitDeadline(now: now))
                }
                let (unfinished, unacknowledged) = (Int(random.byte() % 3), Int(random.byte() % 3))
                switch random.byte() % 16 {
                case 0: actions.append(machine.terminate(now: now))
                case 1: actions.append(machine.left())
                case 2..<5:
                    actions.append(machine.intakeStopped(unfinished: unfinished, unacknowledged: unacknowledged))
                case 5..<9: actions.append(machine.progress(unfinished: unfinished, unacknowledged: unacknowledged))
                case 9..<12: actions.append(machine.commitEnded(random.once(in: 2) ? .retry : .accepted, now: now))
                default: break
                }
                for step in actions.compactMap({ rank[$0] }) {
                    try #require(step > last || step == 2 && last == 2)
                    last = step
                }
                try #require(now <= at(22))
            }
        }
    }
}
