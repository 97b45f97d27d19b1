package import Kafka
package import Stores
package import Telemetry

/// Keeps the contacts of the embedded store those of a compacted topic, on a thread of its own.
package final class ContactFollower: Sendable {
    let progress: ContactProgress
    private let end = Mailbox<Void>()
    private let thread: Thread

    /// `properties` are a consumer's. Nothing else may change these contacts.
    package init(
        _ properties: ClientProperties, topic: String, of cluster: String, into state: StateFile, log: Log
    ) throws(TelemetryError) {
        let progress = ContactProgress(topic: topic)
        let end = end
        thread = try Thread {
            var following = ContactFollowing(properties, topic: topic, of: cluster, state, progress, log, end: end)
            following.serve()
        }
        self.progress = progress
    }

    /// Returns when the thread has ended. Once.
    package func stop() {
        end.post(())
        thread.join()
    }
}
