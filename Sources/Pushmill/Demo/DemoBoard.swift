import FoundationEssentials
import Synchronization

/// The latest results, for the page.
final class DemoBoard: Sendable {
    private static let capacity = 6
    private let results = Mutex<[DemoResult]>([])

    func add(_ result: DemoResult) {
        results.withLock { results in
            results.insert(result, at: 0)
            results.removeLast(max(0, results.count - Self.capacity))
        }
    }

    /// A JSON array, the latest first.
    func json() -> [UInt8] {
        let results = results.withLock { $0 }
        return (try? JSONEncoder().encode(results)).map { Array($0) } ?? Array("[]".utf8)
    }
}
