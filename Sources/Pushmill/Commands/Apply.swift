import Push

extension Command {
    static let apply = Command(
        "apply", "Runs the chain on one payload, without Kafka",
        details: """
            Reads the payload from the input and prints what would be published; how it
            ended goes to the error output. With --lines, records come and go as kcat -J
            prints them, one a line, and each record's timestamp is the clock.

            Badges count in memory, from 0 or from --badges; nothing that the
            configuration names is written.
            """,
        options: [.config, .key, .header, .explain, .lines, .badges]
    ) { invocation throws(ProgramError) in
        let configuration = try invocation.configuration()
        let console = invocation.surroundings.console
        let explanation = invocation.flag(.explain) ? Explanation(console) : nil
        let application = Application(
            rehearsal: try await rehearsal(configuration, counts(invocation), explanation, console),
            topics: configuration.topics, console: console, explanation: explanation)
        guard !invocation.flag(.lines) else {
            for option in [Option.key, .header] where !invocation.texts(option).isEmpty {
                throw .usage("\(option.label) goes with a single payload, not with --lines")
            }
            return try await application.applyLines()
        }
        var envelope = RecordEnvelope()
        envelope.topic = configuration.topics.input.first ?? ""
        envelope.key = invocation.text(.key).map { Array($0.utf8) }
        envelope.headers = try invocation.texts(.header).map(header)
        return try await application.apply(envelope)
    }

    private static func rehearsal(
        _ configuration: Configuration, _ counts: BadgeCounts, _ explanation: Explanation?, _ console: Console
    ) async throws(ProgramError) -> Rehearsal {
        // Nothing is watched: a run is over before a file would be read again.
        let watcher = FileWatcher { _, _ in }
        let contacts = ContactSources(statePath: configuration.state.path, mayCreate: false, watcher: watcher)
        let resources = StageResources(
            log: { severity, message in console.error("\(severity): \(message)") }, watcher: watcher,
            contacts: contacts.open)
        let links = try await configuration.links(resources)
        explanation?.name(links.map(\.stage.name))
        var settings = Chain.Settings(configuration.delivery)
        settings.measuresStages = explanation != nil
        let chain = Chain(links, settings: settings, observer: explanation) {
            severity, stage, source, message in
            console.error("\(severity): \(stage): \(source): \(message)")
        }
        return Rehearsal(chain, counts: counts)
    }

    private static func counts(_ invocation: Invocation) throws(ProgramError) -> BadgeCounts {
        guard let path = invocation.text(.badges) else { return BadgeCounts() }
        do {
            return try BadgeCounts(lines: FileBytes(path: path).bytes)
        } catch {
            throw .badData("\(path): \(error)")
        }
    }

    private static func header(_ text: String) throws(ProgramError) -> RecordEnvelope.Header {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
            throw .usage("\(Option.header.label): expected a name, '=' and a value, found '\(text)'")
        }
        return RecordEnvelope.Header(
            name: Array(text[..<equals].utf8), value: Array(text[text.index(after: equals)...].utf8))
    }
}

extension Option {
    fileprivate static let key = value("key", "TEXT", "the record's key")
    fileprivate static let header = repeated("header", "NAME=VALUE", "a header of the record")
    fileprivate static let explain = flag("explain", "tells what each stage did, and how long it took")
    fileprivate static let lines = flag("lines", "reads and writes records, one a line, instead of a payload")
    fileprivate static let badges = value("badges", "FILE", "counts to begin with, as 'badges export' writes them")
}
