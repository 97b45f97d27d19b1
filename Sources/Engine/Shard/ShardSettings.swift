package import PushmillStores

/// What a shard is to do, and within which bounds. The bounds are its own: a process gives each of its shards a part.
package struct ShardSettings: Sendable {
    package enum Ordering: String, CaseIterable, Sendable {
        case key, partition, none
    }

    /// Where a partition begins of which nothing is committed.
    package enum Reset: Sendable { case earliest, latest, error }

    package var input: [String]
    package var isTransactional = false
    /// A stage of the chain counts: counts are restored before a partition is read.
    package var counts = false
    package var ordering = Ordering.key
    package var reset = Reset.latest
    package var maxInFlight = 10_000
    package var maxInFlightBytes = 64 << 20
    /// Characters of a commit's metadata.
    package var metadataLimit = OffsetMetadata.limit
    /// From the moment that a message was taken.
    package var deadline = Duration.seconds(30)
    package var checkpointInterval = Duration.milliseconds(20)
    package var drain = Duration.seconds(5)
    package var shutdownGrace = Duration.seconds(25)
    package var sessionTimeout = Duration.seconds(45)
    /// Bytes for the accounts in memory.
    package var countBudget = 192 << 20
    /// What accounts are hashed with; the state folder's own.
    package var countSecret = AccountSecret(0, 0)

    /// In which commits and counts are written.
    package var formatVersion = FormatVersion.current

    package init(input: [String]) { self.input = input }
}
