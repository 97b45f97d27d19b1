import Glibc
import Kafka
import Push
import Stores
import Telemetry
import TestSupport
import Testing

@testable import Worker

extension EndToEnd {
    @Suite("Counts from a changelog")
    struct ChangelogTests {
        private static let restored = "badge counts are restored"

        /// An instance over its own changelog; it has ended when the body has.
        private func play(
            _ source: BadgeChangelog, turn: Int = 1000, _ body: (BadgeChangelog.Instance, LaneView) async throws -> Void
        ) async throws {
            let instance = try await elsewhere { try source.instance(turn: turn) }
            do {
                try await body(instance, try LaneView(instance.changelog))
            } catch {
                Issue.record("\(error)\n\(instance.log.messages.joined(separator: "\n"))")
            }
            await ended(instance)
        }

        private func ended(_ instance: BadgeChangelog.Instance) async {
            try? await elsewhere { instance.changelog.stop() }
        }

        private func filled(in folder: TemporaryFolder? = nil) async throws -> BadgeChangelog {
            try await elsewhere {
                let source = try BadgeChangelog(in: folder)
                try source.write([
                    (0, "anna", 3), (0, "boris", 2), (1, "carl", 9), (2, "dora", 4), (0, "anna", 7), (0, "boris", 0),
                ])
                return source
            }
        }

        @Test("A partition is counted when its changelog has been read to the end, and others are not")
        func restoring() async throws {
            try await play(try await filled()) { instance, lane in
                #expect(lane.count("anna", of: 0) == nil)
                try await instance.take([0, 2])
                #expect(
                    [lane.count("anna", of: 0), lane.count("boris", of: 0), lane.count("dora", of: 2)] == [7, 0, 4])
                #expect(lane.count("carl", of: 1) == nil)
                #expect(lane.count("anna", of: 2) == 0)
                #expect(instance.metrics.restoredRecords.value == 5)
                #expect(instance.metrics.restoreLeft.value == 0)
                #expect(instance.changelog.progress.reason == nil)
                try await instance.take([1])
                #expect(lane.count("carl", of: 1) == 9)
            }
        }

        @Test("Partitions with much to read take turns, those with little are read together")
        func turns() async throws {
            let source = try await filled()
            try await play(source, turn: 2) { instance, lane in
                try await instance.take([0, 1, 2])
                #expect(instance.whole.value.first == 0)
                #expect(instance.log.messages.count { $0 == "badge counts are read from their changelog" } == 2)
                #expect(instance.log.messages.count { $0 == Self.restored } == 1)
                #expect(
                    [lane.count("anna", of: 0), lane.count("carl", of: 1), lane.count("dora", of: 2)] == [7, 9, 4])
                #expect(instance.metrics.restoredRecords.value == 6)
            }
        }

        @Test("A partition that cannot be read keeps no other waiting")
        func away() async throws {
            try await play(try await filled()) { instance, lane in
                instance.restore([0, 3])
                try await instance.waitUntilWhole([0])
                #expect(lane.count("anna", of: 0) == 7)
                #expect(instance.changelog.progress.reason != nil)
            }
        }

        @Test(
            "While the store cannot be written nothing is counted, and readiness says so",
            .enabled(if: SmallDisk.mayMount, "needs the right to mount"))
        func fullDisk() async throws {
            let disk = try SmallDisk()
            let source = try await filled(in: disk.folder)
            try await play(source) { instance, lane in
                let status = WorkerStatus(restores: instance.changelog.progress, counts: instance.changelog.counts)
                status.joined()
                try await instance.take([0])
                let change = try #require(lane.change("anna", of: 0, .add(5))?.1)
                var pending = PendingCheckpoint()
                pending.counts.acknowledge(change, of: SourceOffset(assignment: 0, offset: 0)) { _ in }
                let batch = pending.take()
                try disk.fill()
                let last = RecordPosition(partition: 0, offset: 100, timestamp: 1_000)
                let number = instance.changelog.committed(batch.changes, last: [last])
                pending.saved(batch, in: number)
                try await instance.log.wait(for: "counts that were committed cannot be written, trying again")
                #expect(status.reasons.map(\.word) == ["checkpoint-failing"])
                #expect(lane.count("anna", of: 0) == nil)
                #expect(instance.metrics.checkpointFailures.value > 0)
                disk.makeRoom()
                try await instance.log.wait(for: "checkpoints are written again")
                #expect(status.reasons.isEmpty)
                #expect(lane.count("anna", of: 0) == 12)
            }
        }

        @Test("An empty partition is whole at once")
        func empty() async throws {
            let source = try await elsewhere { try BadgeChangelog() }
            try await play(source) { instance, lane in
                try await instance.take([0, 1, 2])
                #expect(lane.count("anna", of: 2) == 0)
            }
        }

        @Test("A partition that comes back is read on from where it was, and what lanes knew of it is forgotten")
        func comingBack() async throws {
            let source = try await filled()
            try await play(source) { instance, lane in
                try await instance.take([0])
                #expect(lane.count("anna", of: 0, .add(1)) == 7)
                #expect(lane.count("anna", of: 0) == 8)
                instance.changelog.release([0])
                #expect(lane.count("anna", of: 0) == nil)
                _ = try await elsewhere { try source.write([(0, "anna", 20)]) }
                let before = instance.metrics.restoredRecords.value
                try await instance.take([0])
                #expect(lane.count("anna", of: 0) == 20)
                // The last one that was known, and the new one.
                #expect(instance.metrics.restoredRecords.value - before == 2)
            }
        }

        @Test("What was committed is in the store at the end, and is not read again")
        func committed() async throws {
            let source = try await filled()
            try await play(source) { instance, lane in
                try await instance.take([0])
                let change = try #require(lane.change("anna", of: 0, .add(5))?.1)
                var pending = PendingCheckpoint()
                pending.counts.acknowledge(change, of: SourceOffset(assignment: 0, offset: 0)) { _ in }
                let batch = pending.take()
                let offset = try await elsewhere { try source.write([(0, "anna", 12)], timestamp: 1_000) }
                let last = RecordPosition(partition: 0, offset: offset, timestamp: 1_000)
                let number = instance.changelog.committed(batch.changes, last: [last])
                pending.saved(batch, in: number)
                #expect(number == 1)
            }
            try await play(source) { instance, lane in
                try await instance.take([0])
                #expect(lane.count("anna", of: 0) == 12)
                #expect(instance.metrics.restoredRecords.value == 1)
            }
        }

        @Test(
            "A changelog that is not the one read before is read anew",
            arguments: [
                ("SELECT 1", false), ("UPDATE changelog_position SET timestamp=timestamp+1", true),
                ("UPDATE changelog_position SET offset=offset+1", true),
                ("UPDATE changelog_position SET offset=offset+1000", true),
                ("UPDATE changelog_source SET cluster='another'", true),
                ("UPDATE changelog_position SET seen=0", true),
            ])
        func otherTopic(change: String, isAnew: Bool) async throws {
            let source = try await filled()
            try await play(source) { instance, _ in try await instance.take([0, 1, 2]) }
            try await elsewhere {
                let database = try Database.open(path: source.statePath)
                try database.execute("INSERT INTO partition_badge VALUES(0, x'67', x'', 66); \(change)")
            }
            try await play(source) { instance, lane in
                try await instance.take([0, 1, 2])
                #expect(lane.count("g", of: 0) == (isAnew ? 0 : 66))
                #expect(lane.count("anna", of: 0) == 7 && lane.count("carl", of: 1) == 9)
            }
        }

        @Test(
            "A failure is said and tried again, readiness tells why; a partition that is released is never whole",
            .enabled(if: Brokers.areMock, "others cannot be failed"))
        func failing() async throws {
            let source = try await filled()
            let mock = try #require(source.brokers.mock)
            mock.failRequests(.listOffsets, with: Array(repeating: 29, count: 10_000))
            try await play(source) { instance, lane in
                let status = WorkerStatus(restores: instance.changelog.progress)
                status.joined()
                instance.restore([0, 1])
                try await instance.log.wait(for: "badge counts cannot be restored, trying again")
                #expect(status.reasons.map(\.word) == ["restoring-counts"])
                instance.changelog.release([1])
                mock.clearFailures(of: .listOffsets)
                try await instance.waitUntilWhole([0])
                #expect(lane.count("carl", of: 1) == nil)
                #expect(status.reasons.isEmpty)
            }
        }

        @Test(
            "A transaction counts when it is committed, and while it is open nothing is whole",
            .enabled(if: !Brokers.areMock, "the mock shows aborted records and has no end of a transaction"))
        func transactions() async throws {
            let source = try await elsewhere { try BadgeChangelog(partitions: 1) }
            let producer = try await elsewhere {
                let properties = source.brokers.properties([("transactional.id", source.topic), ("linger.ms", "0")])
                let producer = try Producer(properties, log: { _, _, _ in })
                try producer.initTransactions(milliseconds: 30_000)
                try producer.beginTransaction()
                _ = try source.write([(0, "anna", 3)], by: producer)
                try producer.commitTransaction(milliseconds: 30_000)
                try producer.beginTransaction()
                _ = try source.write([(0, "anna", 99), (0, "boris", 99)], by: producer)
                try producer.abortTransaction(milliseconds: 30_000)
                try producer.beginTransaction()
                _ = try source.write([(0, "carl", 5)], by: producer)
                return producer
            }
            try await play(source) { instance, lane in
                instance.restore([0])
                try await instance.log.wait(
                    for: "the end of the badge changelog is awaited: a transaction is open, or a replica late")
                #expect(instance.whole.value.isEmpty)
                try await elsewhere { try producer.commitTransaction(milliseconds: 30_000) }
                try await instance.waitUntilWhole([0])
                #expect(
                    [lane.count("anna", of: 0), lane.count("boris", of: 0), lane.count("carl", of: 0)] == [3, 0, 5])
            }
        }
    }
}
