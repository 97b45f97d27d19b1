package import PushmillStages
import PushmillTelemetry

/// Media from the web: fetched once for all concurrent requests, and kept in a folder.
package final class MediaLibrary: MediaSource {
    private let requests = Requests()
    private let transfers: TransferThread
    /// Nil if nothing is kept.
    private let folder: MediaFolder?

    /// Without `keeps`, media is fetched and checked, but not written. `log` is called on any thread.
    package init(
        _ settings: MediaSettings, keeps: Bool = true, reach: Reach = Reach(),
        log: @escaping @Sendable (StageResources.Severity, String) -> Void
    ) throws {
        let folder = keeps ? try MediaFolder(path: settings.folder, capacity: settings.capacity) : nil
        self.folder = folder
        let means = Means(settings: settings, reach: reach, folder: folder, log: log)
        transfers = try TransferThread(means) { [requests] fetch, result in
            requests.end(fetch, result, now: TimeSource.system.now)
            // The folder may have reported the media gone before it was remembered.
            if case .success(let media) = result, folder?.has(media) == false { requests.forget([media.name]) }
        }
        folder?.care(settings, onGone: requests.forget)
    }

    /// Nil if nothing is kept.
    package var figures: MediaFigures? { folder?.room.figures }

    package func known(at url: String, for context: StageContext) -> Media? { known(at: url) }

    private func known(at url: String) -> Media? {
        guard let (media, isDue) = requests.known(url, now: TimeSource.system.now) else { return nil }
        if isDue { folder?.touch(media) { [requests] in requests.forget([media.name]) } }
        return media
    }

    package func media(at url: String, for context: StageContext) async throws(MediaFailure) -> Media? {
        try await media(at: url, until: context.limit)
    }

    /// Does not leave the caller's isolation: going through the system's thread pool would cost two thread wake-ups.
    func media(
        at url: String, until limit: Instant, isolation: isolated (any Actor)? = #isolation
    ) async throws(MediaFailure) -> Media {
        if let media = known(at: url) { return media }
        let number = requests.newNumber()
        let result = await withTaskCancellationHandler {
            _ = isolation
            return await withUnsafeContinuation { (waiting: UnsafeContinuation<FetchResult, Never>) in
                let fetch = requests.join(url, as: number, until: limit, now: TimeSource.system.now) {
                    waiting.resume(returning: $0)
                }
                if let fetch { transfers.start(fetch) }
            }
        } onCancel: {
            if let fetch = requests.leave(url, number) { transfers.cancel(fetch) }
        }
        return try result.get()
    }
}
