package import PushmillKafka
import PushmillStages
package import PushmillStores
package import PushmillTelemetry
import Synchronization

/// Keeps the contacts of the embedded store those of a compacted topic, on a thread of its own: of all its partitions, or
/// of those that are followed where it is co-partitioned with the input. Everything but `stop` returns at once.
package final class ContactFollower: PartitionContacts {
    private struct Wanted {
        /// Who needs it: an input partition of that number, of each topic.
        var users: Set<TopicPartition> = []
        /// Tells an answer from one to an earlier question.
        var number: UInt64
        var isWhole = false
    }

    private let isCoPartitioned: Bool
    private let progress: ContactProgress
    private let requests = ContactRequests()
    private let thread: Thread
    private let wanted = Mutex<(partitions: [Int32: Wanted], last: UInt64)>(([:], 0))

    /// `properties` are a consumer's. Nothing else may change these contacts.
    package init(
        _ properties: ClientProperties, topic: String, of cluster: String, isCoPartitioned: Bool = false,
        into state: StateFile, log: Log
    ) throws(TelemetryError) {
        // With nothing to follow there is nothing to wait for.
        let progress = ContactProgress(topic: topic, isRestored: isCoPartitioned)
        let requests = requests
        thread = try Thread(named: "contacts") {
            var reading = ContactReading(
                properties, topic, of: cluster, isCoPartitioned: isCoPartitioned, state, progress, log, requests)
            reading.serve()
        }
        self.isCoPartitioned = isCoPartitioned
        self.progress = progress
    }

    package func isReady(_ partition: TopicPartition) -> Bool {
        guard isCoPartitioned else { return progress.isRestored }
        return wanted.withLock { wanted in
            if wanted.partitions[partition.partition] != nil {
                wanted.partitions[partition.partition]?.users.insert(partition)
                return wanted.partitions[partition.partition]?.isWhole ?? false
            }
            wanted.last += 1
            let number = wanted.last
            wanted.partitions[partition.partition] = Wanted(users: [partition], number: number)
            // Within the lock, so that no release that another thread has decided on before comes after it.
            requests.post(.follow([partition.partition]) { [weak self] in self?.complete($0, number) })
            return false
        }
    }

    private func complete(_ partition: Int32, _ number: UInt64) {
        wanted.withLock { wanted in
            if wanted.partitions[partition]?.number == number { wanted.partitions[partition]?.isWhole = true }
        }
    }

    /// What the store has of them stays, and is not found.
    package func forget(_ partitions: [TopicPartition]) {
        guard isCoPartitioned else { return }
        wanted.withLock { wanted in
            let released = partitions.filter { place in
                wanted.partitions[place.partition]?.users.remove(place)
                guard wanted.partitions[place.partition]?.users.isEmpty == true else { return false }
                wanted.partitions[place.partition] = nil
                return true
            }
            if !released.isEmpty { requests.post(.release(Set(released.map(\.partition)))) }
        }
    }

    package var reason: (word: String, sentence: String)? { progress.reason }

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

/// Hands requests from any thread to the one that waits for them.
final class ContactRequests: Sendable {
    private let asked = Mutex<[ContactRequest]>([])
    private let signal = WakeSignal()

    func post(_ request: ContactRequest) {
        asked.withLock { $0.append(request) }
        signal.wake()
    }

    /// All that there are; waits for the first until that time.
    func take(until limit: Instant) -> [ContactRequest] {
        while true {
            let taken = asked.withLock { asked in
                defer { asked.removeAll() }
                return asked
            }
            let now = TimeSource.system.now
            guard taken.isEmpty, now < limit else { return taken }
            signal.wait(nanoseconds: Int64(clamping: min(limit.nanoseconds(since: now), 60_000_000_000)))
        }
    }
}
