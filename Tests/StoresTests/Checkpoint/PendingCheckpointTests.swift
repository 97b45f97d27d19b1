import Testing

@testable import Stores

struct PendingCheckpointTests {
    private func position(_ partition: Int32, _ next: Int64) -> PartitionPosition {
        PartitionPosition(topic: "in", partition: partition, next: next, metadata: "")
    }

    @Test("A position stays until a checkpoint has it, and a newer one replaces it")
    func positions() {
        var pending = PendingCheckpoint()
        pending.add(position(0, 5))
        pending.add(position(1, 7))
        let failing = pending.take()
        pending.add(position(0, 6))
        #expect([pending.position(of: "in", 0)?.next, pending.position(of: "in", 1)?.next] == [6, 7])
        pending.putBack(failing)
        let batch = pending.take()
        #expect(batch.positions.map(\.next).sorted() == [6, 7])
        pending.saved(batch, in: 1)
        #expect(pending.position(of: "in", 0) == nil)
        let next = pending.take()
        let isEmpty = next.isEmpty
        #expect(isEmpty)
    }
}
