import PushmillEngine
import Glibc
import PushmillKafka
import PushmillStores
import PushmillTelemetry
import PushmillTestSupport
import Testing

extension EndToEnd {
    @Suite("Contacts that come and go with partitions")
    struct ContactPartitionTests {
        private func play(
            _ source: PartitionedContacts, _ body: (PartitionedContacts.Instance) async throws -> Void
        ) async throws {
            let instance = try await elsewhere { try source.instance() }
            do {
                try await body(instance)
            } catch {
                Issue.record("\(error)\n\(instance.log.messages.joined(separator: "\n"))")
            }
            try await elsewhere { instance.follower.stop() }
        }

        private func filled() async throws -> PartitionedContacts {
            let source = try await elsewhere { try PartitionedContacts() }
            try await PartitionedContacts.fill(source.people, partitions: 3)
            return source
        }

        @Test("A partition's contacts are served once it is fully read, and until it is released")
        func following() async throws {
            let source = try await filled()
            try await play(source) { instance in
                #expect(instance.follower.reason == nil)
                try await instance.wait(for: [1])
                #expect(instance.follower.reason == nil)
                try expect(PartitionedContacts.found(in: source.state), is: ["*/all=Shared 1", "o1/c=Own 1"])
                try expect(PartitionedContacts.stored(in: source.state), is: [1])
                try await instance.wait(for: [0, 1])
                // A later request for the same partition is answered at once.
                #expect(instance.isReady(0))
                instance.release([1])
                try await instance.wait(for: [0, 2])
                // Contacts of a released partition stay stored, and are not found.
                try expect(
                    PartitionedContacts.found(in: source.state),
                    is: [
                        "*/all=Shared 0", "o0/c=Own 0", "o2/c=Own 2",
                    ])
                try expect(PartitionedContacts.stored(in: source.state), is: [0, 1, 2])
                try await source.people.publish([(PartitionedContacts.own(1), nil)], to: 1)
                try await instance.wait(for: [0, 1, 2])
                try expect(
                    PartitionedContacts.found(in: source.state),
                    is: [
                        "*/all=Shared 0", "o0/c=Own 0", "o2/c=Own 2",
                    ])
            }
        }

        @Test(
            "A partition released before it was fully read becomes ready when followed again",
            .enabled(if: Brokers.areMock, "others cannot be failed"))
        func releasedBefore() async throws {
            let source = try await filled()
            try await play(source) { instance in
                source.brokers.mock?.failRequests(.listOffsets, with: Array(repeating: 29, count: 1000))
                instance.follow([0, 1])
                try await instance.log.wait(for: "cannot read contacts from their topic, trying again")
                expect(instance.follower.reason?.word, is: "contacts-not-restored")
                instance.release([0, 1])
                instance.follow([0])
                source.brokers.mock?.clearFailures(of: .listOffsets)
                try await instance.wait(for: [0])
                #expect(instance.follower.reason == nil)
                try expect(PartitionedContacts.found(in: source.state), is: ["*/all=Shared 0", "o0/c=Own 0"])
            }
        }

        @Test(
            "Only a partition that was replaced, or unseen for too long, is read again",
            arguments: ["timestamp=timestamp+1", "offset=offset+1000", "seen=0"])
        func otherTopic(change: String) async throws {
            let source = try await filled()
            try await play(source) { instance in
                try await instance.wait(for: [0, 1])
            }
            try await elsewhere {
                try Database.open(path: source.state).execute(
                    """
                    INSERT INTO contact VALUES(0, x'61', x'62', x'63'), (1, x'64', x'65', x'66');
                    UPDATE contact_position SET \(change) WHERE partition=0
                    """)
            }
            try await play(source) { instance in
                try await instance.wait(for: [0, 1])
                try expect(
                    PartitionedContacts.found(in: source.state),
                    is: [
                        "*/all=Shared 0", "d/e=f", "o0/c=Own 0", "o1/c=Own 1",
                    ])
            }
        }

        @Test(
            "A partition without a leader is waited for and delays no other",
            .enabled(if: Brokers.areMock, "others have leaders"))
        func leaderless() async throws {
            let source = try await filled()
            let partition = TopicPartition(source.topic, 1)
            source.brokers.mock?.setLeader(of: partition, broker: -1)
            try await play(source) { instance in
                try await instance.wait(for: [0])
                instance.follow([1])
                try await instance.wait(for: [2])
                try await instance.log.wait(
                    for: "partitions of the contacts topic have no leader: events that need them wait")
                #expect(!instance.isReady(1))
                expect(instance.follower.reason?.word, is: "contacts-not-restored")
                source.brokers.mock?.setLeader(of: partition, broker: 1)
                try await instance.wait(for: [0, 1, 2])
                #expect(instance.follower.reason == nil)
            }
        }

        /// Broker 2 leads partition 0. Broker 1 leads the others, and answers late.
        private func onTwoBrokers() async throws -> (PartitionedContacts, MockCluster) {
            let source = try await elsewhere { try PartitionedContacts(brokers: 2) }
            try await PartitionedContacts.fill(source.people, partitions: 3)
            let mock = try #require(source.brokers.mock)
            for partition: Int32 in 0..<3 {
                mock.setLeader(of: TopicPartition(source.topic, partition), broker: partition == 0 ? 2 : 1)
            }
            mock.setRoundTrip(milliseconds: 300, broker: 1)
            return (source, mock)
        }

        @Test(
            "Only a partition that falls out of its log is read again",
            .enabled(if: Brokers.areMock, "others cannot be failed"))
        func outOfLog() async throws {
            let (source, mock) = try await onTwoBrokers()
            try await play(source) { instance in
                try await instance.wait(for: [0, 1])
                // OFFSET_OUT_OF_RANGE
                mock.failRequests(.fetch, of: 2, with: 1, count: 1)
                let what = "the contacts topic was recreated or truncated: reading these partitions again"
                try await instance.log.wait(for: what)
                var cursor = 0
                let told = instance.log.ring.read(from: &cursor).lines.filter { "\($0.message)" == what }
                expect(told.map { $0.fields.contains(.partitions("\(source.topic)/0")) }, is: [true])
            }
        }

        @Test(
            "A partition that its broker cannot serve delays no other",
            .enabled(if: Brokers.areMock, "others cannot be failed"))
        func unlent() async throws {
            let (source, mock) = try await onTwoBrokers()
            try await play(source) { instance in
                try await instance.wait(for: [0])
                // CORRUPT_MESSAGE
                mock.failRequests(.fetch, of: 2, with: 2, count: 1000)
                try await instance.log.wait(for: "cannot read contacts from their topic, trying again")
                try await instance.wait(for: [1])
            }
        }

        @Test("A partition that the topic lacks is waited for and delays no other")
        func missing() async throws {
            let source = try await filled()
            try await play(source) { instance in
                instance.follow([2, 7])
                try await instance.wait(for: [2])
                try await instance.log.wait(
                    for: "the contacts topic has fewer partitions than the input: events of the other partitions wait")
                expect(instance.follower.reason?.word, is: "contacts-not-restored")
            }
        }
    }
}
