import Glibc
import PushmillKafka
import PushmillTestSupport
import Testing

extension EndToEnd {
    @Suite(
        "Transactions that fail at each step",
        .enabled(if: Brokers.areMock, "errors can be injected into the mock only"))
    struct FailureTests {
        typealias Failure = (request: MockCluster.Request, code: Int32, name: String)

        private let events = Event.series(2_000, keys: 100)

        private static let passing: [Failure] = [
            (.addPartitionsToTransaction, 51, "CONCURRENT_TRANSACTIONS"),
            (.addPartitionsToTransaction, 16, "NOT_COORDINATOR"),
            (.addOffsetsToTransaction, 15, "COORDINATOR_NOT_AVAILABLE"),
            (.transactionalOffsetCommit, 14, "COORDINATOR_LOAD_IN_PROGRESS"),
            (.endTransaction, 16, "NOT_COORDINATOR"), (.initProducerID, 15, "COORDINATOR_NOT_AVAILABLE"),
        ]

        @Test("A transient error aborts no transaction", .thorough, arguments: passing)
        func passes(failure: Failure) async throws {
            try await Scene.play { scene in
                let mock = try #require(scene.brokers.mock)
                mock.failRequests(failure.request, with: [failure.code, failure.code])
                let service = try scene.start(.exactlyOnce(0, of: scene))
                try await scene.feeder.publish(events)
                try await scene.outputs.wait(count: events.count)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                #expect(service.lines(with: "a transaction was aborted").isEmpty)
                #expect(scene.outputs.all.repeats.isEmpty)
            }
        }

        private static let aborting: [Failure] = [
            (.addPartitionsToTransaction, 29, "TOPIC_AUTHORIZATION_FAILED"),
            (.addOffsetsToTransaction, 30, "GROUP_AUTHORIZATION_FAILED"),
            (.transactionalOffsetCommit, 22, "ILLEGAL_GENERATION"),
            (.transactionalOffsetCommit, 25, "UNKNOWN_MEMBER_ID"),
        ]

        @Test("Outputs of a transaction aborted by an error are produced in another", .thorough, arguments: aborting)
        func aborts(failure: Failure) async throws {
            try await Scene.play { scene in
                let mock = try #require(scene.brokers.mock)
                var configuration = ServiceConfiguration.exactlyOnce(0, of: scene)
                configuration.producer += [("topic.metadata.refresh.interval.ms", "500")]
                let service = try scene.start(configuration)
                try await service.wait(forLine: "serving partitions")
                mock.failRequests(failure.request, with: [failure.code])
                try await scene.feeder.publish(events)
                try await service.wait(forLine: "going back to the last commit")
                let wanted = Set(events)
                try await scene.outputs.wait(for: "every event") { wanted.isSubset(of: $0.lazy.map(\.event)) }
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                #expect(!service.lines(with: "a transaction was aborted").isEmpty)
                #expect(!service.lines(with: failure.name).isEmpty)
                #expect(scene.deadLetters.all.isEmpty)
            }
        }

        private static let fatal: [Failure] = [
            (.addPartitionsToTransaction, 47, "INVALID_PRODUCER_EPOCH"),
            (.addOffsetsToTransaction, 47, "INVALID_PRODUCER_EPOCH"), (.endTransaction, 47, "INVALID_PRODUCER_EPOCH"),
            (.initProducerID, 53, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
        ]

        @Test("A producer that fails for good is reported, and another takes its place", .thorough, arguments: fatal)
        func fenced(failure: Failure) async throws {
            try await Scene.play { scene in
                let mock = try #require(scene.brokers.mock)
                try await scene.feeder.publish(events)
                mock.failRequests(failure.request, with: [failure.code])
                let service = try scene.start(.exactlyOnce(0, of: scene))
                try await service.wait(forLine: "a producer has failed: replacing it")
                let wanted = Set(events)
                try await scene.outputs.wait(for: "every event") { wanted.isSubset(of: $0.lazy.map(\.event)) }
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test("A transactional service waits for brokers that are unavailable for a while")
        func coordinatorLoss() async throws {
            try await Scene.play(brokersGoAway: true) { scene in
                let mock = try #require(scene.brokers.mock)
                let service = try scene.start(.exactlyOnce(0, of: scene))
                try await service.wait(forLine: "serving partitions")
                async let fed: Void = scene.feeder.publish(events, rate: 1_000)
                try await scene.outputs.wait(count: 500)
                mock.setDown()
                try await service.wait(forLine: "Connection refused")
                mock.setUp()
                try await fed
                let wanted = Set(events)
                try await scene.outputs.wait(for: "every event") { wanted.isSubset(of: $0.lazy.map(\.event)) }
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test("A transaction adds offsets once its outputs are stored, and ends once they are accepted")
        func order() async throws {
            try await Scene.play { scene in
                var configuration = ServiceConfiguration.exactlyOnce(0, of: scene)
                configuration.logLevel = "debug"
                configuration.cores = 1
                configuration.producer += [("debug", "protocol")]
                let service = try scene.start(configuration)
                try await service.wait(forLine: "serving partitions")
                let client = try #require(try AdminClient(of: service))
                for start in stride(from: 0, to: events.count, by: 400) {
                    let before = try await elsewhere { Self.committed(try client.ask("/metrics")) }
                    try await scene.feeder.publish(Array(events[start..<start + 400]))
                    try await client.wait(for: "another transaction to be committed") { Self.committed($0) > before }
                }
                try await scene.outputs.wait(count: events.count)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                #expect(service.lines(with: "Log lines were lost").isEmpty)
                let calls = service.lines.compactMap(\.transactionalCall)
                #expect(calls.first == "InitProducerId" && calls.last == "EndTxn")
                for (call, next) in zip(calls, calls.dropFirst()) {
                    let allowed: Set<String> =
                        switch call {
                        case "InitProducerId", "EndTxn": ["InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn"]
                        case "AddOffsetsToTxn": ["TxnOffsetCommit"]
                        case "TxnOffsetCommit": ["EndTxn"]
                        default: ["AddPartitionsToTxn", "Produce", "AddOffsetsToTxn"]
                        }
                    #expect(allowed.contains(next), "\(next) after \(call)")
                }
                #expect(calls.count { $0 == "EndTxn" } > 3)
            }
        }

        /// The number of committed transactions in the text of a scrape.
        private static func committed(_ metrics: String) -> Double {
            metrics.value(of: #"pushmill_transactions_total{result="committed"}"#) ?? 0
        }
    }
}

extension Substring {
    /// The transaction's request that this line reports as sent.
    fileprivate var transactionalCall: String? {
        let names = ["InitProducerId", "AddPartitionsToTxn", "Produce", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn"]
        return names.first { contains(": Sent \($0)Request") }
    }
}
