import Synchronization

/// The latest statistics of a client. What comes is only kept, because it comes within a poll; it is read when someone
/// asks.
final class StatisticsInbox: Sendable {
    private enum Content {
        case nothing
        case text([UInt8])
        case known(ClientStatistics)
    }

    private let content = Mutex(Content.nothing)

    func take(_ json: [UInt8]) { content.withLock { $0 = .text(json) } }

    /// Nil before the first, and where they are switched off. Decodes what is new: not for every message.
    var latest: ClientStatistics? {
        let json: [UInt8]
        switch content.withLock({ $0 }) {
        case .nothing: return nil
        case .known(let statistics): return statistics
        case .text(let text): json = text
        }
        let statistics = ClientStatistics(json: json)
        content.withLock { content in
            // What came meanwhile is newer.
            if case .text(json) = content { content = statistics.map { .known($0) } ?? .nothing }
        }
        return statistics
    }
}
