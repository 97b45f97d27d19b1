import PushmillMedia
import PushmillStages

extension StageEntry {
    /// The attachment stage, with access to this machine's own addresses.
    static let nearbyAttachment = StageEntry("attachment") { settings in
        guard let build = AttachmentStage.entry.read(&settings) else { return nil }
        return { resources in
            var reach = Reach()
            reach.admits = { _ in true }
            return try await build(
                StageResources(
                    log: { severity, _, message in resources.log(severity, message) },
                    watcher: FileWatcher { _, _, _ in },
                    media: { [reach] in try MediaLibrary($0, reach: reach, log: $1) }))
        }
    }
}
