import PushmillKafka
import PushmillTestSupport
import Testing

@testable import PushmillEngine

/// What a CPU quota leaves to each shard.
@Suite("The shares of each shard")
struct EngineSettingsTests {
    @Test("Each shard has its own clients, and all share the process's in-flight limits")
    func shares() {
        var settings = EngineSettings(
            consumer: ClientProperties(), producer: ClientProperties(), input: ["in"], output: "out",
            deadLetters: "dead")
        settings.shard.maxInFlight = 1000
        settings.shard.maxInFlightBytes = 1 << 20
        for cores in 1...5 {
            settings.cores = cores
            let consumers = (0..<cores).map { settings.consumer(of: $0)["client.id"] }
            let producers = (0..<cores).map { settings.producer(of: $0)["client.id"] }
            #expect(Set(consumers).count == cores && Set(producers).count == cores)
            #expect((1000 - cores + 1...1000).contains(settings.shared.shard.maxInFlight * cores))
            #expect((1 << 20 - cores + 1...1 << 20).contains(settings.shared.shard.maxInFlightBytes * cores))
        }
        settings.cores = 32
        expect(settings.shared.consumer(of: 31)["queued.max.messages.kbytes"], is: "4096")
        settings.consumer["queued.max.messages.kbytes"] = "9"
        expect(settings.shared.consumer(of: 31)["queued.max.messages.kbytes"], is: "9")
    }

    private func settings(_ names: [(name: String, value: String)]) -> EngineSettings {
        EngineSettings(
            consumer: ClientProperties(names), producer: ClientProperties(names), input: ["in"], output: "out",
            deadLetters: "dead")
    }

    @Test("Client, static-member and transactional IDs, if set, get the shard's number")
    func names() {
        let named = settings([
            ("client.id", "mill"), ("group.instance.id", "one"), ("transactional.id", "two"),
            ("auto.offset.reset", "earliest"),
        ])
        let consumer = named.consumer(of: 2)
        expect(consumer["client.id"], is: "mill-2")
        expect(consumer["group.instance.id"], is: "one-2")
        // The engine decides where a partition begins.
        #expect(consumer["auto.offset.reset"] == nil)
        expect(named.producer(of: 2)["transactional.id"], is: "two-2")
        expect(named.producer(of: 2)["client.id"], is: "mill-2")
        let plain = settings([])
        expect(plain.consumer(of: 0)["client.id"], is: "pushmill-0")
        #expect(plain.consumer(of: 0)["group.instance.id"] == nil)
        #expect(plain.producer(of: 0)["transactional.id"] == nil)
    }

    @Test("The reader outside the group has no static-member ID and short fetch waits")
    func reader() {
        let reader = settings([("group.instance.id", "one"), ("client.id", "mill")]).reader
        #expect(reader["group.instance.id"] == nil)
        expect(reader["client.id"], is: "mill")
        expect(reader["fetch.wait.max.ms"], is: "10")
        expect(reader["queued.max.messages.kbytes"], is: "16384")
    }

    @Test("Few records wait for others only with transactions, and for a fifth of one at most")
    func pauses() {
        var settings = settings([])
        settings.shard.checkpointInterval = .milliseconds(100)
        expect(settings.shared.shard.intakePause, is: .zero)
        settings.shard.isTransactional = true
        expect(settings.shared.shard.intakePause, is: .milliseconds(20))
        settings.shard.checkpointInterval = .milliseconds(10)
        expect(settings.shared.shard.intakePause, is: .milliseconds(2))
    }

    @Test("Shards share the memory for counts, and the more they are, the less each prefetches")
    func memory() {
        var settings = settings([])
        settings.shard.countBudget = 900
        settings.cores = 3
        expect(settings.shared.shard.countBudget, is: 300)
        expect(settings.shared.consumer["queued.max.messages.kbytes"], is: "4096")
        settings.cores = 1
        expect(settings.shared.consumer["queued.max.messages.kbytes"], is: "8192")
        expect(settings.shared.consumer["max.partition.fetch.bytes"], is: "262144")
        expect(settings.shared.consumer["queued.min.messages"], is: "20000")
        settings.consumer["queued.min.messages"] = "9"
        expect(settings.shared.consumer["queued.min.messages"], is: "9")
        settings.consumer["queued.min.messages"] = nil
        settings.consumer["max.partition.fetch.bytes"] = "9"
        expect(settings.shared.consumer["max.partition.fetch.bytes"], is: "9")
        expect(settings.shared.consumer["fetch.max.bytes"], is: "1048576")
        settings.consumer["message.max.bytes"] = "2000000"
        expect(settings.shared.consumer["fetch.max.bytes"], is: "2000000")
        settings.consumer["fetch.max.bytes"] = "9"
        expect(settings.shared.consumer["fetch.max.bytes"], is: "9")
        settings.cores = 64
        expect(settings.shared.consumer["queued.max.messages.kbytes"], is: "2048")
        settings.cores = 4
        settings.consumer["client.rack"] = "b"
        expect(settings.shared.consumer["queued.max.messages.kbytes"], is: "32768")
        settings.shard.maxInFlight = 1
        settings.shard.maxInFlightBytes = 1
        settings.cores = 4
        #expect(settings.shared.shard.maxInFlight == 1 && settings.shared.shard.maxInFlightBytes == 1)
    }
}
