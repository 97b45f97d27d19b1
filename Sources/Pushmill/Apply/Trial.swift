import PushmillMedia
import PushmillPayload
package import PushmillReplay
package import PushmillStages

/// A configuration that is tried on records, outside of the service: nothing is watched and nothing created that the
/// configuration names.
package struct Trial {
    let configuration: Configuration
    let console: Console
    /// Follows the stages and measures them.
    let explanation: Explanation?

    init(configuration: Configuration, console: Console, explanation: Explanation?) {
        self.configuration = configuration
        self.console = console
        self.explanation = explanation
    }

    package init(configuration: Configuration, console: Console) {
        self.init(configuration: configuration, console: console, explanation: nil)
    }

    /// The chain, with the counts to begin with. Media is fetched, and not kept, unless it is recorded. Contacts come from
    /// `contacts`, where that is given, unless they are a file's. `log` gets what stages say of single messages.
    package func candidate(
        counts: BadgeCounts?, time: TimeSource = .system, lateness: LateStages? = nil, media: RecordedMedia? = nil,
        contacts book: (any ContactBook)? = nil, log: @escaping Chain.Log
    ) async throws(ProgramError) -> Candidate {
        let watcher = FileWatcher { _, _, _ in }
        let contacts = ContactSources(statePath: configuration.state.path, mayCreate: false, watcher: watcher)
        let resources = StageResources(
            log: { [console] severity, stage, message in console.error("\(severity): \(stage): \(message)") },
            watcher: watcher,
            contacts: { source in
                if let book, !source.isFile { return book }
                return try contacts.open(source)
            },
            media: { settings, log in try media?.open(settings) ?? MediaLibrary(settings, keeps: false, log: log) })
        let links = try await configuration.links(resources) { lateness?.wrap($0) ?? $0 }
        explanation?.name(links.map(\.stage.name))
        var settings = Chain.Settings(configuration.delivery)
        settings.measuresStages = explanation != nil
        let chain = Chain(links, settings: settings, time: time, observer: explanation, log: log)
        return Candidate(
            chain: chain, outputTopic: configuration.topics.output, deadLetterTopic: configuration.topics.deadLetter,
            counts: counts, lateness: lateness, media: media)
    }
}

extension Option {
    static let badges = value("badges", "FILE", "counts to begin with, as 'badges export' writes them")
}

extension Invocation {
    /// What `--badges` names.
    func badgeCounts() throws(ProgramError) -> BadgeCounts? {
        guard let path = text(.badges) else { return nil }
        do {
            return try BadgeCounts(lines: FileBytes(path: path).bytes)
        } catch {
            throw .badData("\(path): \(error)")
        }
    }
}
