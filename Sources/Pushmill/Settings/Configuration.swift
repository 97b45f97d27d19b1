import PushmillEngine
import PushmillKafka
package import PushmillStages

/// All settings of a service, checked.
package struct Configuration: Sendable {
    package let kafka: KafkaSettings
    package let topics: TopicSettings
    package let delivery: DeliverySettings
    package let state: StateSettings
    package let stages: [ConfiguredStage]
    package let admin: AdminSettings
    package let log: LogSettings
    package let process: ProcessSettings
    /// The settings in effect: every default filled in, secrets hidden.
    package let effective: Setting
    /// Settings that are allowed but hardly intended.
    package let warnings: [SettingProblem]

    /// True with a `badge` stage: counts depend on the order of events and must survive. A user's stage may count too.
    package var countsBadges: Bool { stages.contains { $0.name == "badge" } }

    /// The topic of which the embedded store's contacts are a copy.
    package var contactTopic: ContactTopic? {
        for stage in stages {
            guard case .topic(let name)? = stage.contactSource else { continue }
            return ContactTopic(name: name, isCoPartitioned: stage.hasCoPartitionedContacts)
        }
        return nil
    }

    /// The file that contacts come from, if no stage reads the embedded store.
    var contactFile: String? {
        let sources = stages.compactMap(\.contactSource)
        guard sources.allSatisfy(\.isFile), case .file(let path)? = sources.first else { return nil }
        return path
    }

    /// True if everything in the embedded store is in topics too: it has no contacts of its own.
    var stateIsCopy: Bool { !stages.contains { $0.contactSource == .state } }

    init(from settings: inout SettingReader, registry: StageRegistry) {
        kafka = settings.map("kafka", KafkaSettings.init)
        topics = settings.map("topics", TopicSettings.init)
        delivery = settings.map("delivery", DeliverySettings.init)
        state = settings.map("state", StateSettings.init)
        stages = registry.read("stages", from: &settings)
        process = settings.map("process", ProcessSettings.init)
        admin = settings.map("admin", AdminSettings.init)
        log = settings.map("log", LogSettings.init)
        effective = settings.effective
        warnings = settings.warnings
        checkProperties(&settings)
        checkTopics(&settings)
        checkTransactions(&settings)
    }
}

/// Checks across sections.
extension Configuration {
    private func checkProperties(_ settings: inout SettingReader) {
        let sections: [(KafkaSettings.Section, [SettingProperty])] = [
            (.common, kafka.common), (.consumer, kafka.consumer), (.producer, kafka.producer),
        ]
        for (section, properties) in sections {
            for property in properties {
                guard let place = property.place else { continue }
                let message: String?
                if let secret = KafkaSettings.secret(ofFile: property.name) {
                    let isTwice = properties.contains { $0.name == secret }
                    // The file is not opened here: any text will do as its contents.
                    message = isTwice ? "\(secret) is set too: keep only one of them" : section.problem(secret, "-")
                } else {
                    message =
                        ReservedProperties.refusal(of: property, delivery.guarantee)
                        ?? section.problem(property.name, property.value)
                }
                guard let message else { continue }
                let path = "\(section.rawValue).\(property.name)"
                settings.report(SettingProblem(place: place, path: path, message: message))
            }
        }
    }

    /// Lets librdkafka check properties that may not go together, except those that need a file. Creates clients for
    /// it, which do not connect.
    func checkClients() throws(ProgramError) {
        var consumer = clientProperties(for: .consumer)
        var producer = clientProperties(for: .producer)
        // As low as in a service with many cores; librdkafka lowers other limits by it.
        let prefetched = "queued.max.messages.kbytes"
        consumer[prefetched] = consumer[prefetched] ?? "1024"
        keepGuarantee(&producer, transactionalID: "any")
        if let error = GroupConsumer.problem(consumer) { throw .refused("consumer", error) }
        if let error = OutputProducer.problem(producer) { throw .refused("producer", error) }
    }

    /// Sets what the guarantee requires of a producer. `transactionalID` applies unless the configuration has one.
    func keepGuarantee(_ producer: inout ClientProperties, transactionalID: String) {
        switch delivery.guarantee {
        case .atLeastOnce:
            // A timeout would give up records that only wait for an outage to end.
            producer["message.timeout.ms"] = "0"
        case .exactlyOnce:
            producer["transactional.id"] = producer["transactional.id"] ?? transactionalID
            producer["transaction.timeout.ms"] = "\(kafka.transactionTimeout)"
        }
    }

    private func clientProperties(for section: KafkaSettings.Section) -> ClientProperties {
        let open = kafka.properties(for: section).filter { property in
            property.name != "security.protocol" && !["ssl.", "sasl."].contains(where: property.name.hasPrefix)
                && KafkaSettings.secret(ofFile: property.name) == nil
        }
        return ClientProperties(open.map { ($0.name, $0.value) })
    }

    private func checkTopics(_ settings: inout SettingReader) {
        var uses = topics.input.map { (name: $0, use: "input") }
        for (use, name) in [("output", topics.output), ("dead-letter", topics.deadLetter)] {
            if let other = uses.first(where: { $0.name == name }) {
                settings.report(at: ["topics", use], "\(name) is already the \(other.use) topic")
            }
            uses.append((name, use))
        }
        if countsBadges {
            uses.append((topics.badgeChangelog, "badge-changelog"))
            for (path, message) in countingProblems(of: "badge") { settings.report(at: path, message) }
        }
        for stage in stages {
            guard case .topic(let name)? = stage.contactSource, let other = uses.first(where: { $0.name == name })
            else { continue }
            let message = "\(name) is already the \(other.use) topic"
            settings.report(SettingProblem(place: stage.place, path: "\(stage.path).source", message: message))
        }
    }

    /// The settings that prevent a stage of that name from counting.
    func countingProblems(of stage: String) -> [(path: [String], message: String)] {
        var problems: [(path: [String], message: String)] = []
        if delivery.shard.ordering == .none {
            let message = "must be key or partition, because the \(stage) stage counts"
            problems.append((["delivery", "ordering"], message))
        }
        if topics.input.count > 1 {
            let message = "must be one topic, because the \(stage) stage keeps counts by partition number"
            problems.append((["topics", "input"], message))
        }
        let changelog = topics.badgeChangelog
        let uses = topics.input.map { ($0, "input") } + [(topics.output, "output"), (topics.deadLetter, "dead-letter")]
        if let (_, use) = uses.first(where: { $0.0 == changelog }) {
            problems.append((["topics", "badge-changelog"], "\(changelog) is already the \(use) topic"))
        }
        return problems
    }

    /// Brokers abort a transaction that lasts longer than its timeout, and fence its producer.
    private func checkTransactions(_ settings: inout SettingReader) {
        let limit = kafka.transactionTimeout
        let shard = delivery.shard
        guard shard.isTransactional else { return }
        if shard.checkpointInterval > .milliseconds(limit / 2) {
            settings.report(
                at: ["delivery", "checkpoint-interval"],
                "must be at most half of the producer's transaction.timeout.ms, which is \(limit)")
        }
        // If one of these is longer, librdkafka creates no producer.
        let bounded = ["message.timeout.ms", "delivery.timeout.ms", "socket.timeout.ms"]
        for (section, properties) in [(KafkaSettings.Section.common, kafka.common), (.producer, kafka.producer)] {
            for property in properties where bounded.contains(property.name) {
                guard let place = property.place, let time = Int(property.value), time > limit else { continue }
                settings.report(
                    SettingProblem(
                        place: place, path: "\(section.rawValue).\(property.name)",
                        message: "must be at most the producer's transaction.timeout.ms, which is \(limit)"))
            }
        }
    }
}
