import Kafka
import Synchronization

/// The input topics by the numbers that records carry.
final class InputTopics: Sendable {
    private let topics = Mutex<[String]>([])

    /// Called by the intake before records with this number reach a lane.
    func learn(_ number: UInt32, _ name: @autoclosure () -> String) {
        topics.withLock { topics in
            while topics.count <= Int(number) { topics.append(name()) }
        }
    }

    var names: [String] { topics.withLock { $0 } }
}
