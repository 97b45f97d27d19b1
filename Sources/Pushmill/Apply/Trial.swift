import Media
import Push
import Replay

/// A configuration that is tried on records, outside of the service: nothing is watched and nothing created that the
/// configuration names.
struct Trial {
    let configuration: Configuration
    let console: Console

    /// The chain, with the counts to begin with. Media is fetched, and not kept, unless it is recorded. `log` gets what
    /// stages say of single messages.
    func candidate(
        counts: BadgeCounts?, time: TimeSource = .system, lateness: LateStages? = nil, media: RecordedMedia? = nil,
        explanation: Explanation? = nil, log: @escaping Chain.Log
    ) async throws(ProgramError) -> Candidate {
        let watcher = FileWatcher { _, _, _ in }
        let contacts = ContactSources(statePath: configuration.state.path, mayCreate: false, watcher: watcher)
        let resources = StageResources(
            log: { [console] severity, stage, message in console.error("\(severity): \(stage): \(message)") },
            watcher: watcher, contacts: contacts.open
        ) { settings, log in
            try media?.open(settings) ?? MediaLibrary(settings, keeps: false, log: log)
        }
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
