package import Kafka
package import Stores
package import Telemetry

/// Keeps the contacts of the embedded store those of a compacted topic, on a thread of its own: of all its partitions, or
/// of those that are followed where it is co-partitioned with the input. Everything but `stop` returns at once.
package final class ContactFollower: Sendable {
    let isCoPartitioned: Bool
    let progress: ContactProgress
    private let requests = Mailbox<ContactRequest>()
    private let thread: Thread

    /// `properties` are a consumer's. Nothing else may change these contacts.
    package init(
        _ properties: ClientProperties, topic: String, of cluster: String, isCoPartitioned: Bool = false,
        into state: StateFile, log: Log
    ) throws(TelemetryError) {
        // With nothing to follow there is nothing to wait for.
        let progress = ContactProgress(topic: topic, isRestored: isCoPartitioned)
        let requests = requests
        thread = try Thread(named: "contacts") {
            var following = ContactFollowing(
                properties, topic: topic, of: cluster, isCoPartitioned: isCoPartitioned, state, progress, log, requests)
            following.serve()
        }
        self.isCoPartitioned = isCoPartitioned
        self.progress = progress
    }

    /// Reads these partitions from where the store has them, and on until they are released. `whenWhole` is called on the
    /// follower's thread for each of them when it has been read to its end. The group must not wait for that: assign the
    /// input's partition at once, paused.
    package func follow(_ partitions: Set<Int32>, whenWhole: @escaping @Sendable (Int32) -> Void) {
        requests.post(.follow(partitions, whenWhole))
    }

    /// No event needs them any more. What the store has of them stays, and is not found.
    package func release(_ partitions: Set<Int32>) { requests.post(.release(partitions)) }

    /// Returns when the thread has ended. Once.
    package func stop() {
        requests.post(.stop)
        thread.join()
    }
}

/// What the follower's thread is asked for.
enum ContactRequest: Sendable {
    case follow(Set<Int32>, @Sendable (Int32) -> Void)
    case release(Set<Int32>)
    case stop
}
