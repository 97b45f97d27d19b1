import Glibc
import PushmillPayload
import PushmillReplay
import PushmillStages

/// One call of `pushmill replay`.
struct ReplayCommand {
    private enum Deadlines: String, CaseIterable { case off, recorded }

    private let invocation: Invocation
    private let configuration: Configuration
    private let settings: ReplayRun.Settings
    private var console: Console { invocation.console }

    init(_ invocation: Invocation) throws(ProgramError) {
        self.invocation = invocation
        configuration = try invocation.configuration()
        var settings = ReplayRun.Settings()
        settings.lanes = try invocation.value(.lanes, .integer(1...256)) ?? Processors.usable
        settings.ignored = IgnoredFields(try invocation.texts(.ignore).map(Self.field))
        settings.filter.keys = Set(invocation.texts(.onlyKey).map { Array($0.utf8) })
        settings.filter.categories = Set(invocation.texts(.onlyCategory))
        let outcome = SettingFormat.choice(Outcome.allCases.map { "\($0.name)" }, name: \.self)
        settings.filter.outcomes = Set(try invocation.values(.onlyOutcome, outcome))
        self.settings = settings
        try check()
    }

    private static func field(_ text: String) throws(ProgramError) -> String {
        let names = [FieldChange.key, FieldChange.timestamp, FieldChange.payload, FieldChange.layout]
        guard
            text.hasPrefix("/") && JSONPointer(text) != nil || text.hasPrefix("header:") && text != "header:"
                || names.contains(text)
        else {
            throw .usage("\(Option.ignore.label): unknown field '\(text)'" + Spelling.question(text, names))
        }
        return text
    }

    private func check() throws(ProgramError) {
        let baselines = invocation.texts(.baseline)
        guard !baselines.isEmpty else { throw .usage("'replay' needs \(Option.baseline.label)") }
        let isFile = { (place: String) in Self.topic(place) == nil && !InputFile.isStandardInput(place) }
        if invocation.flag(.update), baselines.count > 1 || !isFile(baselines[0]) {
            throw .usage("--update requires a single file as --baseline")
        }
        let isPart = try invocation.range(of: "") != TopicRange(topic: "")
        if isPart, try Self.topic(invocation.required(.input)) == nil {
            throw .usage("--from, --to and --partition require a topic as INPUT")
        }
        let inputs =
            try [invocation.required(.input), invocation.required(.config)] + baselines + invocation.texts(.badges)
        guard inputs.count(where: InputFile.isStandardInput) < 2 else {
            throw .usage("standard input can be read only once, but is named twice")
        }
        var reports: Set<String> = []
        for option in [Option.json, .junit, .html] {
            guard let path = invocation.text(option) else { continue }
            if inputs.contains(where: { Self.areOneFile($0, path) }) {
                throw .usage("\(option.label): '\(path)' is read and would be overwritten")
            }
            guard reports.insert(path).inserted else {
                throw .usage("\(option.label): '\(path)' is another report already")
            }
        }
    }

    private static func areOneFile(_ path: String, _ other: String) -> Bool {
        var (first, second) = (stat(), stat())
        guard stat(path, &first) == 0, stat(other, &second) == 0, first.st_mode & S_IFMT == S_IFREG else {
            return false
        }
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }

    /// The name in `topic:NAME`; nil for a file.
    private static func topic(_ place: String) -> String? {
        place.hasPrefix("topic:") ? String(place.dropFirst("topic:".count)) : nil
    }

    /// `range` selects a part of a topic. A golden file need not be ordered.
    private func open(
        _ place: String, isOrdered: Bool, range: (String) throws -> TopicRange = { TopicRange(topic: $0) }
    ) throws -> any RecordSource {
        guard let topic = Self.topic(place) else {
            return try CaptureFile(path: place, isOrdered: isOrdered, parallelism: settings.lanes)
        }
        return try configuration.read(range(topic))
    }

    func run() async throws -> ExitCode {
        let deadlines = try invocation.value(.deadlines, .choice(Deadlines.self)) ?? .off
        // With a stopped clock no deadline passes: findings must not depend on the speed of this machine.
        let candidate = try await configuration.candidate(
            counts: invocation.badgeCounts(), time: .manual(ManualTime()),
            recorded: RecordedOutputs(repeatsDeadlines: deadlines == .recorded), tell: console.error,
            log: { _, _, _, _ in })
        let source = try open(invocation.required(.input), isOrdered: true, range: invocation.range)
        let golden = invocation.flag(.update) ? invocation.text(.baseline) : nil
        let baseline = try await baseline(golden)
        let replay = ReplayRun(source, candidate, baseline: baseline, keepsLines: golden != nil, settings: settings)
        let records = source as? TopicRecords
        let progress = Progress(console.status, total: records.map { Int(clamping: $0.span) })
        records?.onSkip = progress.skip
        defer { progress.clear() }
        let summary = try await run(replay, golden, progress)
        progress.clear()
        if baseline != nil { console.output(SummaryText.of(summary)) }
        if let golden {
            console.error("wrote \(golden)")
            return .success
        }
        return summary.isSame ? .success : .different
    }

    private func run(
        _ replay: ReplayRun, _ golden: String?, _ progress: Progress
    ) async throws(ReplayError) -> ReplaySummary {
        let reports = try reports()
        let file = try golden.map { path throws(ReplayError) in try ReportFile(path: path) }
        let summary = try await replay.run(
            report: { change throws(ReplayError) in
                for report in reports { try report.add(change) }
            },
            publish: { line throws(ReplayError) in try file?.write(line) }, progress: progress.show)
        for report in reports { try report.finish(summary) }
        try file?.close()
        return summary
    }

    private func reports() throws(ReplayError) -> [any ReplayReport] {
        var reports: [any ReplayReport] = []
        if let path = invocation.text(.json) { reports.append(try JSONReport(path: path)) }
        if let path = invocation.text(.junit) { reports.append(try JUnitReport(path: path)) }
        if let path = invocation.text(.html) { reports.append(try HTMLReport(path: path)) }
        return reports
    }

    /// Nil for a golden capture that does not exist yet.
    private func baseline(_ golden: String?) async throws -> Baseline? {
        if let golden, access(golden, F_OK) != 0 { return nil }
        let places = invocation.texts(.baseline)
        let sources = try places.map { try open($0, isOrdered: false) }
        let baseline = try await Baseline(sources, isWider: places.contains { Self.topic($0) != nil })
        if baseline.foreign > 0 {
            console.error("\(baseline.foreign) records of the baseline have no pushmill-source: ignored")
        }
        return baseline
    }
}

extension Command {
    static let replay = Command(
        name: "replay", summary: "Runs recorded input through a configuration and shows what would change",
        details: """
            INPUT is a capture or topic:NAME. The result of each record is compared with the
            baseline: a golden capture, or topic:NAME for recorded outputs (several, if dead
            letters have their own topic), matched by pushmill-source. Nothing outside is
            changed. The chain's clock shows each record's own timestamp, and no deadline
            expires except those recorded in the baseline (--deadlines recorded). One of
            INPUT, --config, --baseline and --badges may be '-', standard input.

            Exits with 0 if nothing differs, with 1 if something does, and with 65 if
            something cannot be read. --update writes the results to the golden capture.
            """,
        options: [.input, .config, .baseline] + Option.range
            + [
                .ignore, .onlyKey, .onlyCategory, .onlyOutcome, .badges, .deadlines, .lanes, .json, .junit, .html,
                .update,
            ]
    ) { invocation in
        do {
            return try await ReplayCommand(invocation).run()
        } catch let error as ReplayError {
            // Records that brokers do not deliver are input that cannot be read.
            if case .kafka = error { throw ProgramError.badData("\(error)") }
            throw error
        } catch let error as ProgramError {
            if case .outside = error { throw ProgramError.badData(error.messages.joined()) }
            throw error
        }
    }
}

extension Option {
    static let input = operand("INPUT", "a capture, or topic:NAME")
    static let baseline = repeated("baseline", "FILE", "what to compare with: a golden capture, or topic:NAME")
    static let ignore = repeated(
        "ignore", "FIELD", "ignores differences in: a JSON Pointer, header:NAME, key, timestamp, payload or layout")
    static let onlyKey = repeated("key", "TEXT", "compares only records with this key")
    static let onlyCategory = repeated("category", "TEXT", "compares only notifications of this category")
    static let onlyOutcome = repeated("outcome", "NAME", "compares only records with this outcome, before or after")
    static let deadlines = value(
        "deadlines", "KIND", "off (default), or recorded: what was late in the baseline is late again")
    static let lanes = value("lanes", "NUMBER", "number of threads; default: one per core")
    static let json = value("json", "FILE", "writes every difference and the totals as JSON")
    static let junit = value("junit", "FILE", "writes a JUnit report")
    static let html = value("html", "FILE", "writes a page that shows each difference")
    static let update = flag("update", "writes the results to the golden capture")
}
