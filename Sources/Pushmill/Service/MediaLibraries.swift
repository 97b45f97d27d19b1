import PushmillMedia
import PushmillStages
import PushmillTelemetry

/// The libraries of media that a chain has, one for each of its attachment stages.
struct MediaLibraries: Sendable {
    private let all: [MediaLibrary]

    init(of stages: [any Stage]) { all = stages.compactMap { ($0 as? AttachmentStage)?.source as? MediaLibrary } }

    /// Of each folder once, though several stages keep media there.
    var figures: [MediaFigures] {
        Dictionary(all.compactMap(\.figures).map { ($0.path, $0) }) { first, second in first.adding(second) }
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
