import Media
import Synchronization
import Telemetry

/// The libraries of media that a configuration has, one for each of its attachment stages.
final class MediaLibraries: Sendable {
    private let all = Mutex<[MediaLibrary]>([])

    func add(_ library: MediaLibrary) { all.withLock { $0.append(library) } }

    /// Of each folder once, though several stages keep media there.
    var figures: [MediaFigures] {
        let all = all.withLock { $0 }.compactMap(\.figures)
        return Dictionary(all.map { ($0.path, $0) }) { first, second in first.adding(second) }
            .values.sorted { $0.path < $1.path }
    }
}

extension MediaFigures {
    /// Those of one folder that two libraries keep media in: each counts all that is there.
    fileprivate func adding(_ other: MediaFigures) -> MediaFigures {
        MediaFigures(
            path: path, bytes: max(bytes, other.bytes), limit: max(limit, other.limit), free: min(free, other.free),
            refusals: refusals + other.refusals)
    }
}
