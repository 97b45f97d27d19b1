import Testing
import Worker

@Suite("Answering rebalances")
struct DrainMachineTests {
    typealias Machine = DrainMachine<Int, ContinuousClock.Instant>

    private let start = ContinuousClock.now

    /// A machine that owns these partitions, with their positions read.
    private func machine(owning partitions: [Int]) -> Machine {
        var machine = Machine()
        expectEqual(machine.assigned(partitions, now: start), .assign(partitions, number: 1))
        expectEqual(machine.positionsRead(of: partitions, number: 1), partitions)
        expectEqual(machine.next(now: start), .none)
        return machine
    }

    @Test("What is revoked is drained, committed, and only then given back")
    func revocation() {
        var machine = machine(owning: [1, 2, 3])
        expectEqual(machine.revoked([1, 2], bound: .seconds(5), now: start), .drain([1, 2]))
        #expect(machine.leaving == [1, 2])
        expectEqual(machine.hitDeadline(now: start + .seconds(4)), .none)
        expectEqual(machine.drained(now: start + .seconds(4)), .commit([1, 2], attempt: 1, abandoning: false))
        expectEqual(
            machine.commitEnded(.accepted, attempt: 1, now: start + .seconds(4)), .unassign([1, 2], unstarted: []))
        expectEqual(machine.next(now: start), .none)
        #expect(machine.leaving == [] && machine.deadline == nil)
    }

    @Test("At the bound the unfinished is given up, and the rest committed")
    func bound() {
        var machine = machine(owning: [1])
        expectEqual(machine.revoked([1], bound: .seconds(5), now: start), .drain([1]))
        #expect(machine.deadline == start + .seconds(5))
        expectEqual(machine.hitDeadline(now: start + .seconds(5)), .commit([1], attempt: 1, abandoning: true))
        expectEqual(machine.drained(now: start + .seconds(5)), .none)
        #expect(machine.deadline == start + .seconds(7))
    }

    @Test("A commit that meets a rebalance is repeated within its bound, and then let go")
    func retries() {
        var machine = machine(owning: [1])
        expectEqual(machine.revoked([1], bound: .seconds(5), now: start), .drain([1]))
        var (now, attempt) = (start, 1)
        expectEqual(machine.drained(now: now), .commit([1], attempt: 1, abandoning: false))
        expectEqual(machine.commitEnded(.retry, attempt: 0, now: now), .none)
        expectEqual(machine.hitDeadline(now: now + .milliseconds(150)), .none)
        while true {
            expectEqual(machine.commitEnded(.retry, attempt: attempt, now: now), .none)
            guard let deadline = machine.deadline else { break }
            now = deadline
            attempt += 1
            let action = machine.hitDeadline(now: now)
            guard action == .commit([1], attempt: attempt, abandoning: false) else {
                #expect(action == .unassign([1], unstarted: []))
                break
            }
        }
        #expect(now == start + .seconds(2) && attempt == 21)
    }

    @Test(
        "A commit that was refused for good, or is not answered, does not hold the partitions",
        arguments: [true, false])
    func refusal(isAnswered: Bool) {
        var machine = machine(owning: [1])
        expectEqual(machine.revoked([1], bound: .seconds(5), now: start), .drain([1]))
        expectEqual(machine.drained(now: start), .commit([1], attempt: 1, abandoning: false))
        let action =
            isAnswered
            ? machine.commitEnded(.refused, attempt: 1, now: start) : machine.hitDeadline(now: start + .seconds(2))
        #expect(action == .unassign([1], unstarted: []))
        expectEqual(machine.commitEnded(.accepted, attempt: 1, now: start), .none)
    }

    @Test("Lost partitions go at once and uncommitted, whatever was going on", arguments: [false, true])
    func loss(isCommitting: Bool) {
        var machine = machine(owning: [1, 2])
        expectEqual(machine.revoked([1], bound: .seconds(5), now: start), .drain([1]))
        if isCommitting {
            expectEqual(machine.drained(now: start), .commit([1], attempt: 1, abandoning: false))
        }
        expectEqual(machine.lost([1, 2]), .unassign([1, 2], unstarted: []))
        expectEqual(machine.drained(now: start), .none)
        expectEqual(machine.commitEnded(.retry, attempt: 1, now: start), .none)
        #expect(machine.deadline == nil)
    }

    @Test("Where a part of what drains is lost, the others drain on")
    func partialLoss() {
        var machine = machine(owning: [1, 2])
        expectEqual(machine.revoked([1, 2], bound: .seconds(5), now: start), .drain([1, 2]))
        expectEqual(machine.lost([2]), .unassign([2], unstarted: []))
        expectEqual(machine.drained(now: start), .commit([1], attempt: 1, abandoning: false))
    }

    @Test("An assignment during a drain waits, so that giving back cannot take the new one away")
    func assignmentDuringDrain() {
        var machine = machine(owning: [1, 2])
        expectEqual(machine.revoked([1], bound: .seconds(5), now: start), .drain([1]))
        expectEqual(machine.assigned([1, 3], now: start), .none)
        expectEqual(machine.revoked([3], bound: .seconds(5), now: start), .none)
        expectEqual(machine.drained(now: start), .commit([1], attempt: 1, abandoning: false))
        expectEqual(machine.commitEnded(.accepted, attempt: 1, now: start), .unassign([1], unstarted: []))
        expectEqual(machine.next(now: start), .assign([1, 3], number: 2))
        expectEqual(machine.next(now: start), .unassign([3], unstarted: [3]))
        expectEqual(machine.positionsRead(of: [1, 3], number: 2), [1])
    }

    @Test("A second revocation of what is leaving is answered by the first, and bounds nothing anew")
    func repeatedRevocation() {
        var machine = machine(owning: [1, 2])
        expectEqual(machine.revoked([1], bound: .seconds(5), now: start), .drain([1]))
        expectEqual(machine.revoked([1, 2], bound: .seconds(5), now: start + .seconds(1)), .none)
        expectEqual(machine.hitDeadline(now: start + .seconds(5)), .commit([1], attempt: 1, abandoning: true))
        expectEqual(
            machine.commitEnded(.accepted, attempt: 1, now: start + .seconds(6)), .unassign([1], unstarted: []))
        expectEqual(machine.next(now: start + .seconds(6)), .drain([2]))
        #expect(machine.deadline == start + .seconds(11))
    }

    @Test("Partitions whose committed positions are still being read have nothing to drain or commit")
    func revokedWhileStarting() {
        var machine = machine(owning: [1])
        expectEqual(machine.assigned([2, 3], now: start), .assign([2, 3], number: 2))
        expectEqual(machine.revoked([1, 2], bound: .seconds(5), now: start), .drain([1]))
        expectEqual(machine.positionsRead(of: [2, 3], number: 2), [3])
        expectEqual(machine.drained(now: start), .commit([1], attempt: 1, abandoning: false))
        expectEqual(machine.commitEnded(.accepted, attempt: 1, now: start), .unassign([1, 2], unstarted: [2]))
        expectEqual(machine.assigned([4], now: start), .assign([4], number: 3))
        expectEqual(machine.revoked([4], bound: .seconds(5), now: start), .unassign([4], unstarted: [4]))
    }

    @Test("Positions read for an assignment that was lost do not start the next one")
    func stalePositions() {
        var machine = Machine()
        expectEqual(machine.assigned([1], now: start), .assign([1], number: 1))
        expectEqual(machine.lost([1]), .unassign([1], unstarted: [1]))
        expectEqual(machine.assigned([1], now: start), .assign([1], number: 2))
        expectEqual(machine.positionsRead(of: [1], number: 1), [])
        expectEqual(machine.positionsRead(of: [1], number: 2), [1])
    }

    @Test("An assignment of nothing is answered too")
    func emptyAssignment() {
        var machine = Machine()
        expectEqual(machine.assigned([], now: start), .assign([], number: 1))
        expectEqual(machine.positionsRead(of: [], number: 1), [])
    }
}
