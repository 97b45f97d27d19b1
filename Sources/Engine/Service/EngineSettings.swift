package import PushmillKafka
package import PushmillStages
package import PushmillStores
package import PushmillTelemetry

/// What an engine is to do. Its shards share the bounds of `shard` evenly.
package struct EngineSettings: Sendable {
    package var consumer: ClientProperties
    package var producer: ClientProperties
    package var input: [String]
    package var output: String
    package var deadLetters: String
    /// Where counts are kept; nil where nothing is counted.
    package var changelog: String?
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
        var properties = consumer
        properties["client.id"] = "\(properties["client.id"] ?? "pushmill")-\(shard)"
        properties["group.instance.id"] = properties["group.instance.id"].map { "\($0)-\(shard)" }
        properties["auto.offset.reset"] = nil
        return properties
    }

    package func producer(of shard: Int) -> ClientProperties {
        var properties = producer
        properties["client.id"] = "\(properties["client.id"] ?? "pushmill")-\(shard)"
        properties["transactional.id"] = properties["transactional.id"].map { "\($0)-\(shard)" }
        return properties
    }

    /// How much is fetched before a core's consumer fetches no more, in records and in kilobytes. More than some tenths of a
    /// second's makes nothing faster, and a partition that is taken over waits for all that was fetched of others. No fetch is
    /// larger than that (`rd_kafka_conf_finalize`), and so little is asked for of each partition that some dozens of them come
    /// with one. Replicas that are not leaders are not woken when there is room.
    private static let prefetchedRecords = "queued.min.messages"
    private static let prefetched = "queued.max.messages.kbytes"
    private static let partitionShare = "max.partition.fetch.bytes"
    private var prefetchedKilobytes: Int {
        let most = (1 << 17) / max(2, cores)
        return consumer["client.rack"] == nil ? min(most, cores > 2 ? 4096 : 8192) : most
    }

    /// The same with a shard's part of what the process is allowed.
    package var shared: EngineSettings {
        var settings = self
        settings.shard.maxInFlight = max(1, shard.maxInFlight / cores)
        settings.shard.maxInFlightBytes = max(1, shard.maxInFlightBytes / cores)
        settings.shard.countBudget = shard.countBudget / cores
        if consumer[Self.prefetchedRecords] == nil, consumer["client.rack"] == nil {
            settings.consumer[Self.prefetchedRecords] = "20000"
        }
        if consumer[Self.prefetched] == nil {
            settings.consumer[Self.prefetched] = "\(prefetchedKilobytes)"
            if consumer[Self.partitionShare] == nil, consumer["fetch.message.max.bytes"] == nil {
                settings.consumer[Self.partitionShare] = "\(min(1 << 20, prefetchedKilobytes * 1024 / 32))"
            }
        }
        return settings
    }

    /// The properties of clients that read outside the group.
    var reader: ClientProperties {
        var properties = consumer
        properties["group.instance.id"] = nil
        // An end is known when a fetch has waited in vain.
        properties["fetch.wait.max.ms"] = "10"
        properties[Self.prefetched] = "16384"
        // Nobody shows them, and between two restores nobody takes them: they would pile up.
        properties["statistics.interval.ms"] = nil
        return properties
    }
}

/// What a shard is to do, and within which bounds. The bounds are its own: a process gives each of its shards a part.
package struct ShardSettings: Sendable {
    package enum Ordering: String, CaseIterable, Sendable {
        case key, partition, none
    }

    /// Where a partition begins while nothing is committed of it.
    package enum Reset: Sendable { case earliest, latest, error }

    package var isTransactional = false
    /// A stage of the chain counts: counts are restored before a partition is read.
    package var counts = false
    package var ordering = Ordering.key
    package var reset = Reset.latest
    package var maxInFlight = 10_000
    package var maxInFlightBytes = 64 << 20
    /// What a crash may repeat, at least once: a little less than a quarter of what is in flight, since what waited for its
    /// key comes on top. With less a core's throughput would be bounded by how soon brokers answer.
    var maxExposed: Int { min(maxInFlight, max(1000, maxInFlight * 6 / 25)) }
    /// Characters of a commit's metadata.
    package var metadataLimit = OffsetMetadata.limit
    package var checkpointInterval = Duration.milliseconds(20)
    package var drain = Duration.seconds(5)
    package var shutdownGrace = Duration.seconds(25)
    package var sessionTimeout = Duration.seconds(45)
    /// Bytes for the accounts in memory.
    package var countBudget = 192 << 20

    /// In which commits and counts are written.
    package var formatVersion = FormatVersion.current

    package init() {}
}

/// What the shards of an engine share: none of it is changed while messages flow, or it is made for many threads.
package struct EngineEnvironment: Sendable {
    package let chain: Chain
    /// The folder of counts; nil where no stage counts.
    package let counts: CountFolder?
    /// Follows the topic of contacts; nil where they do not come from one.
    package let contacts: ContactFollower?
    package let metrics: ServiceMetrics
    package let log: Log

    package init(chain: Chain, counts: CountFolder?, contacts: ContactFollower?, metrics: ServiceMetrics, log: Log) {
        self.chain = chain
        self.counts = counts
        self.contacts = contacts
        self.metrics = metrics
        self.log = log
    }

    /// Lines on counts name the stage that they are of.
    var counting: [LogField] { chain.countingStage.map { [.stage($0)] } ?? [] }

    var kafkaLog: KafkaLogSink {
        { [log] level, facility, message in
            // Of properties that the engine sets itself nobody needs to be warned.
            if facility == "CONFWARN", message.contains("enable.gapless.guarantee") { return }
            log.log(LogLevel(syslog: level), "librdkafka", [.component(facility), .error(text: message)])
        }
    }
}
