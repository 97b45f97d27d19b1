import PushmillKafka
import PushmillStages
import PushmillStores
import PushmillTelemetry

/// The follower's thread: reads what it is asked for, again and again where that fails.
struct ContactFollowing {
    private static let pause = Duration.seconds(1)

    private let properties: ClientProperties
    private let topic: String
    private let cluster: String
    private let isCoPartitioned: Bool
    private let state: StateFile
    private let log: Log
    private let requests: Mailbox<ContactRequest>
    private var reading: ContactReading
    private var isEnding = false

    init(
        _ properties: ClientProperties, topic: String, of cluster: String, isCoPartitioned: Bool, _ state: StateFile,
        _ progress: ContactProgress, _ log: Log, _ requests: Mailbox<ContactRequest>
    ) {
        var properties = properties
        // Nothing is skipped unnoticed.
        properties["auto.offset.reset"] = "error"
        // Contacts trickle in; what has piled up is written more slowly than it is fetched.
        properties["queued.max.messages.kbytes"] = "8192"
        // Events wait for the end of a partition, which is known when a fetch has waited in vain.
        if isCoPartitioned { properties["fetch.wait.max.ms"] = "100" }
        self.properties = properties
        self.topic = topic
        self.cluster = cluster
        self.isCoPartitioned = isCoPartitioned
        self.state = state
        self.log = log
        self.requests = requests
        reading = ContactReading(topic, isCoPartitioned: isCoPartitioned, progress, log)
    }

    /// The thread's life.
    mutating func serve() {
        while !hasEnded(until: reading.isIdle ? .never : .past) {
            do {
                try follow()
            } catch {
                log.error(
                    "contacts cannot be read from their topic, trying again",
                    [.contacts, .topic(topic), .error(error)])
                _ = hasEnded(until: TimeSource.system.now + Self.pause)
            }
        }
    }

    /// Until there is nothing to follow. Throws what may be over when it is tried again.
    private mutating func follow() throws {
        let reader = try PartitionReader(properties, tellsEnds: true) { [log] level, facility, message in
            log.log(LogLevel(syslog: level), "librdkafka", [.component(facility), .contacts, .error(text: message)])
        }
        var contacts = try TopicContacts(state, topic: topic, cluster: cluster, isCoPartitioned: isCoPartitioned)
        reading.reset()
        while !hasEnded(until: .past) {
            try reading.readOn(reader, &contacts)
            if reading.isIdle { return }
        }
    }

    /// Does what was asked for until that time.
    private mutating func hasEnded(until limit: Instant) -> Bool {
        guard !isEnding else { return true }
        var asked: [ContactRequest] = []
        requests.take(into: &asked, until: limit)
        for request in asked {
            switch request {
            case .follow(let partitions, let whenWhole): reading.follow(partitions, whenWhole)
            case .release(let partitions): reading.release(partitions)
            case .stop: isEnding = true
            }
        }
        return isEnding
    }
}

extension LogField {
    /// What is said of contacts is said of the stage that looks them up.
    static let contacts = LogField.stage(ContactStage.entry.name)
}
