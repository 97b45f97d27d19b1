import PushmillMedia
import PushmillPayload
package import PushmillReplay
package import PushmillStages

extension Configuration {
    /// A chain to try on records, outside the service: nothing that the configuration names is watched or created.
    /// `observer` times the stages.
    ///
    /// Badges start from `counts`. Media is fetched and not kept; with `recorded`, it comes from there. Contacts come
    /// from `contacts`, if given, unless they are a file's. `tell` receives what stages log of themselves, `log` what
    /// they log about messages.
    package func candidate(
        counts: BadgeCounts?, observer: (any ChainObserver)? = nil, time: TimeSource = .system,
        recorded: RecordedOutputs? = nil, contacts book: (any ContactBook)? = nil,
        tell: @escaping @Sendable (String) -> Void = { _ in }, log: @escaping Chain.Log
    ) async throws(ProgramError) -> Candidate {
        let watcher = FileWatcher { _, _, _ in }
        let resources = StageResources(
            log: { severity, stage, message in tell("\(severity): \(stage): \(message)") },
            watcher: watcher,
            contacts: { [state] source in
                if let book, !source.isFile { return book }
                return try state.contacts(of: source, creating: false, watcher)
            },
            media: { settings, log in try recorded?.media(settings) ?? MediaLibrary(settings, keeps: false, log: log) })
        let links = try await links(resources) { recorded?.wrap($0) ?? $0 }
        let chain = Chain(links, settings: Chain.Settings(delivery), time: time, observer: observer, log: log)
        return Candidate(
            chain: chain, outputTopic: topics.output, deadLetterTopic: topics.deadLetter, counts: counts,
            recorded: recorded ?? RecordedOutputs())
    }
}

extension Option {
    static let badges = value("badges", "FILE", "initial counts, in the format of 'badges export'")
}

extension Invocation {
    /// The counts in the file that `--badges` names.
    func badgeCounts() throws(ProgramError) -> BadgeCounts? {
        guard let path = text(.badges) else { return nil }
        return try explaining(as: ProgramError.badData) { try BadgeCounts(InputFile(path: path)) }
    }
}
