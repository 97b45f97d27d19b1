import PushmillStages
import Testing

@testable import PushmillEngine

@Suite("The threads of shards, with an embedded broker")
struct ShardThreadsTests {
    @Test("A thread that waits for the shards to end is woken when the last has ended")
    func ends() throws {
        let peer = try ServicePeer()
        var settings = peer.settings
        settings.cores = 2
        settings.shard.shutdownGrace = .seconds(60)
        let threads = try ShardThreads(settings, peer.environment)
        let begun = TimeSource.system.now
        threads.terminate()
        threads.wait()
        #expect(TimeSource.system.now < begun + .seconds(40))
        #expect(threads.reasons.map(\.word).contains("ending"))
        #expect(!peer.lines.contains("exiting without threads that hang"))
    }
}
