import Glibc
import PushmillKafka
import PushmillTestSupport
import Testing

extension EndToEnd {
    @Suite("Outputs that brokers refuse in transactions")
    struct RefusalTests {
        @Test("Outputs of a batch that is refused once are produced again", .thorough, .enabled(if: Brokers.areMock))
        func refusedOnce() async throws {
            let events = Event.series(2_000, keys: 100)
            try await Scene.play { scene in
                let mock = try #require(scene.brokers.mock)
                try await scene.feeder.publish(events)
                mock.failRequests(.produce, with: [10])
                var configuration = ServiceConfiguration.exactlyOnce(0, of: scene)
                // The first batch must have several outputs: one refused alone would be a dead letter. A transaction
                // begins before the shard has joined, and if its end is due, the first record is sent at once.
                configuration.delivery = [("guarantee", "exactly-once"), ("checkpoint-interval", "20s")]
                configuration.producer += [("transaction.timeout.ms", "60000")]
                configuration.producer[0] = ("linger.ms", "1000")
                let service = try scene.start(configuration)
                let wanted = Set(events)
                try await scene.outputs.wait(for: "every event") { wanted.isSubset(of: $0.lazy.map(\.event)) }
                try await service.wait(forLine: "going back to the last commit")
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                #expect(scene.deadLetters.all.isEmpty)
            }
        }

        @Test(
            "If a batch is refused, only the record refused by itself becomes a dead letter", .thorough,
            .enabled(if: Brokers.areMock))
        func refusedAlone() async throws {
            try await Scene.play(partitions: 1) { scene in
                let mock = try #require(scene.brokers.mock)
                let events = Event.series(1_000, keys: 1_000)
                try await scene.feeder.publish(events)
                // The mock refuses the batch as a whole and then, of its records sent one by one, the 51st. The batch
                // has that many even if it is sent before all are taken.
                mock.failRequests(.produce, with: [10] + Array(repeating: 0, count: 50) + [10])
                var configuration = ServiceConfiguration.exactlyOnce(0, of: scene)
                // Longer than a busy machine takes to join: a checkpoint would split the first batch, and so would a
                // second member.
                configuration.cores = 1
                configuration.delivery = [("guarantee", "exactly-once"), ("checkpoint-interval", "30s")]
                configuration.producer += [("transaction.timeout.ms", "90000")]
                configuration.producer[0] = ("linger.ms", "2000")
                let service = try scene.start(configuration)
                let letters = try await scene.deadLetters.wait(count: 1)
                let letter = try #require(letters.first)
                let wanted = Set(events.filter { $0.key != letter.key })
                expect(wanted.count, is: 999)
                try await scene.outputs.wait(for: "every other event") { wanted.isSubset(of: $0.lazy.map(\.event)) }
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                expect(letter.reason, is: "publish-failed")
                #expect(events.contains { $0.key == letter.key && $0.payload == letter.value })
                expect(scene.deadLetters.all.count, is: 1)
            }
        }

        @Test("One poison record in a busy partition is a dead letter, and everything else goes on", .needsTransactions)
        func poison() async throws {
            try await Scene.play(partitions: 1, outputSettings: [("max.message.bytes", "2000")]) { scene in
                let events = Event.series(8_000, keys: 400)
                let payload = #"{"n":0,"aps":{"alert":"\#(String(repeating: "x", count: 3_000))"}}"#
                let service = try scene.start(.exactlyOnce(0, of: scene))
                try await scene.feeder.publish(Array(events[..<4_000]), rate: 2_000)
                try await scene.feeder.publish([(key: "large", value: Array(payload.utf8))])
                try await scene.feeder.publish(Array(events[4_000...]), rate: 2_000)
                try await scene.outputs.wait(count: events.count)
                let letters = try await scene.deadLetters.wait(count: 1)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                expect(letters, is: [Letter(key: "large", value: Array(payload.utf8), reason: "publish-failed")])
                let arrivals = try await scene.allOutputs()
                #expect(arrivals.missing(of: events).isEmpty && arrivals.repeats.isEmpty)
                #expect(arrivals.keysOutOfOrder.isEmpty)
                try await expect(scene.committed().doneCount, is: events.count + 1)
            }
        }
    }
}
