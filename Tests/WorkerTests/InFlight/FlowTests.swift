import Engine
import Kafka
import Testing

@testable import Worker

/// What a transaction may not commit: outputs of a partition that has gone without its offsets.
@Suite("Partitions that go")
struct FlowTests {
    private let flow = Flow(limit: 10, byteLimit: 1000, counts: false)
    private let slot: PartitionSlot

    init() { slot = flow.open(TopicPartition("in", 3), ledger: OffsetLedger(startingAt: 100), isPositionKnown: true) }

    private func take(_ offset: Int64) throws -> InFlightTable.Ticket {
        try #require(
            flow.withState { state in
                _ = state[slot]?.ledger.take(offset)
                return state.table.insert(InFlightTable.Delivery(slot: slot, offset: offset, byteCount: 1))
            })
    }

    private func commit() {
        flow.withState { state in
            if let snapshot = state[slot]?.ledger.snapshot() { state[slot]?.ledger.committed(snapshot) }
        }
    }

    private func told(_ cut: borrowing Flow.Cut) -> (losses: Int, marks: [Flow.Mark]) { (cut.losses, cut.marks) }

    @Test("Nothing is lost with one of which everything is committed")
    func committed() throws {
        _ = flow.complete([try take(100), try take(101)])
        commit()
        flow.end([slot])
        #expect(flow.losses == 0)
    }

    @Test("What is acknowledged and not committed is lost")
    func acknowledged() throws {
        _ = flow.complete([try take(100)])
        flow.end([slot])
        #expect(flow.losses == 1)
        let (losses, marks) = told(flow.cut(nil))
        #expect(losses == 1 && marks.isEmpty)
    }

    @Test("So is what is published and not acknowledged, whenever that comes")
    func unanswered() throws {
        _ = flow.complete([try take(100)])
        commit()
        let ticket = try take(101)
        flow.end([slot])
        #expect(flow.losses == 1)
        _ = flow.complete([ticket])
        #expect(flow.losses == 1)
        #expect(!flow.isDirty)
    }

    @Test("Of a record whose partition waits to be read again nobody says that it is done")
    func returning() throws {
        let place = TopicPartition("in", 3)
        _ = flow.complete([try take(100)])
        #expect(flow.isDone(Position(place, offset: 100)))
        #expect(!flow.isDone(Position(place, offset: 101)))
        flow.end([slot])
        #expect(!flow.isDone(Position(place, offset: 100)))
    }

    @Test("A window with nothing in flight has room for any offset, however far away")
    func farAway() throws {
        let ticket = try take(100)
        #expect(!flow.hasMoved(slot, for: 5_000_000, metadataLimit: .max))
        _ = flow.complete([ticket])
        #expect(flow.hasMoved(slot, for: 5_000_000, metadataLimit: .max))
    }

    @Test("Where a partition begins of which nothing was read is not told", arguments: [true, false])
    func nothingRead(isPositionKnown: Bool) {
        let flow = Flow(limit: 10, byteLimit: 1000, counts: true)
        let place = TopicPartition("in", 4)
        flow.end([flow.open(place, ledger: OffsetLedger(startingAt: -1), isPositionKnown: isPositionKnown)])
        #expect((flow.unsavedPosition(of: place) != nil) == isPositionKnown)
    }

    @Test("A slot that is open stays so when another is closed")
    func openSlots() {
        let other = flow.open(TopicPartition("in", 4), ledger: OffsetLedger(startingAt: 0), isPositionKnown: true)
        let slots = flow.openSlots
        flow.fence([other])
        #expect(slots.contains(slot) && slots.contains(other))
        #expect(!slots.contains(slot, closings: flow.closings))
        #expect(flow.openSlots.contains(slot) && !flow.openSlots.contains(other))
    }
}
