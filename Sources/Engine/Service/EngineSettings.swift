package import PushmillKafka
package import PushmillStages
package import PushmillStores
package import PushmillTelemetry

/// The settings of an engine. Its shards share the bounds of `shard` evenly.
package struct EngineSettings: Sendable {
    package var consumer: ClientProperties
    package var producer: ClientProperties
    package var input: [String]
    package var output: String
    package var deadLetters: String
    /// The topic that keeps counts; nil if nothing is counted.
    package var changelog: String?
    /// The changelog's partitions when the service started, as many as the input had; nil if nothing is counted.
    package var changelogPartitions: Int?
    package var shard = ShardSettings()
    package var cores = 1

    package init(
        consumer: ClientProperties, producer: ClientProperties, input: [String], output: String, deadLetters: String
    ) {
        self.consumer = consumer
        self.producer = producer
        self.input = input
        self.output = output
        self.deadLetters = deadLetters
    }

    /// Members of a group that share a `client.id` and differ in their topics can send librdkafka's assignor into an
    /// endless loop (its issue 4783): each has its own.
    package func consumer(of shard: Int) -> ClientProperties {
        var properties = Self.properties(consumer, of: shard, identity: "group.instance.id")
        properties["auto.offset.reset"] = nil
        return properties
    }

    package func producer(of shard: Int) -> ClientProperties {
        Self.properties(producer, of: shard, identity: "transactional.id")
    }

    private static func properties(
        _ properties: ClientProperties, of shard: Int, identity: String
    ) -> ClientProperties {
        var properties = properties
        properties["client.id"] = "\(properties["client.id"] ?? "pushmill")-\(shard)"
        properties[identity] = properties[identity].map { "\($0)-\(shard)" }
        return properties
    }

    /// How much a core's consumer prefetches, in records and in kilobytes. More than some tenths of a second's worth
    /// makes nothing faster, and a partition that is taken over waits for everything prefetched of others. Each
    /// partition's share is small enough that some dozens come with one fetch. Follower replicas are not woken when there
    /// is room, so more is prefetched with a rack.
    ///
    /// The last fetch comes on top, and is decompressed whole: of equal texts to many recipients, a hundred times its
    /// size. So fetches are small, although librdkafka would allow as much as is prefetched.
    private static let prefetchedRecords = "queued.min.messages"
    private static let prefetched = "queued.max.messages.kbytes"
    private static let partitionShare = "max.partition.fetch.bytes"
    private static let fetchSize = "fetch.max.bytes"
    private var prefetchedKilobytes: Int {
        let most = (1 << 17) / max(2, cores)
        return consumer["client.rack"] == nil ? min(most, cores > 2 ? 4096 : 8192) : most
    }

    /// The same settings, with one shard's part of the process's bounds.
    package var shared: EngineSettings {
        var settings = self
        settings.shard.maxInFlight = max(1, shard.maxInFlight / cores)
        settings.shard.maxInFlightBytes = max(1, shard.maxInFlightBytes / cores)
        settings.shard.countBudget = shard.countBudget / cores
        settings.shard.counts = changelog != nil
        if shard.isTransactional { settings.shard.intakePause = min(.milliseconds(20), shard.checkpointInterval / 5) }
        if consumer[Self.prefetchedRecords] == nil, consumer["client.rack"] == nil {
            settings.consumer[Self.prefetchedRecords] = "20000"
        }
        if consumer[Self.prefetched] == nil {
            settings.consumer[Self.prefetched] = "\(prefetchedKilobytes)"
            if consumer[Self.partitionShare] == nil, consumer["fetch.message.max.bytes"] == nil {
                settings.consumer[Self.partitionShare] = "\(min(1 << 20, prefetchedKilobytes * 1024 / 32))"
            }
            if consumer[Self.fetchSize] == nil {
                // librdkafka refuses less than the largest message.
                let largest = consumer["message.max.bytes"].flatMap { Int($0) } ?? 0
                settings.consumer[Self.fetchSize] = "\(max(1 << 20, largest))"
            }
        }
        return settings
    }

    /// The properties of clients that read outside the group.
    var reader: ClientProperties {
        var properties = consumer
        properties["group.instance.id"] = nil
        // The end of a log is known only after a fetch has waited and brought nothing.
        properties["fetch.wait.max.ms"] = "10"
        properties[Self.prefetched] = "16384"
        // Nothing shows these statistics, and between two restores nothing takes them: they would pile up.
        properties["statistics.interval.ms"] = nil
        return properties
    }
}

/// The settings and bounds of one shard: a process gives each of its shards a part of its bounds.
package struct ShardSettings: Sendable {
    package enum Ordering: String, CaseIterable, Sendable {
        case key, partition, none
    }

    /// Where a partition begins if nothing is committed of it.
    package enum Reset: Sendable { case earliest, latest, error }

    // These defaults are for tests: the service sets its own.
    package var isTransactional = false
    /// A stage of the chain keeps counts, which are restored before a partition is read.
    package var counts = false
    package var ordering = Ordering.key
    package var reset = Reset.latest
    package var maxInFlight = 10_000
    package var maxInFlightBytes = 64 << 20
    /// How many messages a crash may repeat without transactions: just under a quarter of those in flight, since those
    /// that waited for their key come on top. With less, broker latency would bound a core's throughput.
    var maxExposed: Int { min(maxInFlight, max(1000, maxInFlight * 6 / 25)) }
    /// The maximum number of characters in a commit's metadata.
    package var metadataLimit = OffsetMetadata.limit
    package var checkpointInterval = Duration.milliseconds(20)
    /// With transactions, how long a few records wait for others. They leave with the transaction anyway, and librdkafka
    /// spends up to a millisecond of CPU whenever it adds partitions to a transaction.
    package var intakePause = Duration.zero
    /// How long revoked partitions may finish what is in flight.
    package var drain = Duration.seconds(5)
    /// How long a shutdown may take, commits included.
    package var shutdownGrace = Duration.seconds(25)
    package var sessionTimeout = Duration.seconds(45)
    /// With transactions: longer than the timeouts of a record and of its request together.
    package var reportPatience = Duration.seconds(30)
    /// Bytes for the accounts in memory.
    package var countBudget = 192 << 20
    /// How long stored counts wait for the disk at least, unless there are many.
    package var writeBehindInterval = Duration.seconds(10)

    /// The version in which commits and counts are written.
    package var formatVersion = FormatVersion.current

    package init() {}
}

/// What the shards of an engine share: either constant while messages flow, or safe for many threads.
package struct EngineEnvironment: Sendable {
    package let chain: Chain
    /// The folder of counts; nil if no stage counts.
    package let counts: CountFolder?
    /// Follows the topic of contacts; nil if contacts do not come from a topic.
    package let contacts: ContactFollower?
    package let metrics: ServiceMetrics
    package let log: Log
    let asking = AskingClient()

    package init(chain: Chain, counts: CountFolder?, contacts: ContactFollower?, metrics: ServiceMetrics, log: Log) {
        self.chain = chain
        self.counts = counts
        self.contacts = contacts
        self.metrics = metrics
        self.log = log
    }

    /// Log lines about counts name the counting stage.
    var counting: [LogField] { chain.countingStage.map { [.stage($0)] } ?? [] }

    var kafkaLog: KafkaLogSink {
        { [log] level, facility, message in
            // The engine sets this property itself, so nobody needs the warning.
            if facility == "CONFWARN", message.contains("enable.gapless.guarantee") { return }
            // Its dump of properties (`debug: conf`) hides passwords, but not a key that precedes a certificate.
            if message.contains("-----BEGIN") { return }
            log.log(LogLevel(syslog: level), "librdkafka", [.component(facility), .error(text: message)])
        }
    }
}
