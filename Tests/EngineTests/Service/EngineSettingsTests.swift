import PushmillKafka
import Testing

@testable import PushmillEngine

/// (trust 14) What a quota of CPU leaves to each shard.
@Suite("The shares of shards")
struct EngineSettingsTests {
    @Test("Each has a consumer and a producer of its own, and all together no more in flight than the process may have")
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
        #expect(settings.shared.consumer(of: 31)["queued.max.messages.kbytes"] == "4096")
        settings.consumer["queued.max.messages.kbytes"] = "9"
        #expect(settings.shared.consumer(of: 31)["queued.max.messages.kbytes"] == "9")
    }
}
