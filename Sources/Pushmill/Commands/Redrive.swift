import Glibc
import PushmillKafka
import PushmillReplay
import PushmillStages
import PushmillStores
import PushmillTelemetry

extension Command {
    static let redrive = Command(
        name: "redrive", summary: "Sends dead letters back to the input topic",
        details: """
            Sends each to the partition it came from (to that of its key if the topic no
            longer has it) with its original key, value, headers and timestamp, and with the
            number of its attempt in pushmill-attempt. A badge that was counted is not
            counted again. On a terminal it only shows what it would send, unless --send is
            given.

            A journal file records what was sent and acknowledged, so the command may be
            repeated. After an interruption or a crash it first looks in the input topic for
            the letters that were being sent, and does not send again what it finds there.
            """,
        options: [
            .config, .reason, .since, .until, .letterKey, .maximalAttempts, .journal, .dryRun, .send,
        ]
    ) { invocation in
        let configuration = try invocation.configuration()
        let console = invocation.console
        let redrive = try redrive(invocation)
        let source = try configuration.read(TopicRange(topic: configuration.topics.deadLetter))
        let path = invocation.text(.journal) ?? configuration.state.journal
        if !redrive.isDry, invocation.text(.journal) == nil {
            do throws(StoreError) { try configuration.state.makeFolder() } catch { throw Service.unusable(error) }
        }
        var journal = stat()
        let isWithoutJournal = stat(path, &journal) == 0 ? journal.st_size == 0 : errno == ENOENT
        _ = Signals.take([SIGINT, SIGTERM])
        try await redrive.run(
            source, to: configuration.topics.input, journal: path, configuration.plainProducer(),
            configuration.kafka.client(.consumer),
            isOver: { Signals.isEndWanted || Console.hasFailed },
            report: { console.output(line($0, $1)) },
            end: { tally in
                console.error(summary(tally, isDry: redrive.isDry))
                if isWithoutJournal, tally[.sent] ?? 0 > 0 {
                    let were = redrive.isDry ? "would be" : "were"
                    console.error("there was no journal at \(path): letters recorded in another one \(were) sent again")
                }
            })
        return .success
    }

    private static func redrive(_ invocation: Invocation) throws(ProgramError) -> Redrive {
        if invocation.flag(.dryRun), invocation.flag(.send) { throw .usage("--dry-run cannot be combined with --send") }
        var redrive = Redrive()
        let reason = SettingFormat.choice(DeadLetterReason.allCases.map { "\($0.name)" }, name: \.self)
        let time = SettingFormat(
            expected: "a time such as 2026-11-20T08:00:00Z, or an age such as 2h",
            { PointInTime.milliseconds($0, now: WallClock.system.now() / 1_000_000) }, render: { "\($0)" })
        redrive.reasons = Set(try invocation.values(.reason, reason))
        redrive.keys = Set(invocation.texts(.letterKey).map { Array($0.utf8) })
        redrive.since = try invocation.value(.since, time) ?? redrive.since
        redrive.until = try invocation.value(.until, time)
        guard redrive.since <= redrive.until ?? .max else { throw .usage("--since is later than --until") }
        let attempts = try invocation.value(.maximalAttempts, .integer(1...1_000_000))
        redrive.maximalAttempts = attempts.map { Int64($0) } ?? redrive.maximalAttempts
        redrive.isDry =
            !invocation.flag(.send) && (invocation.flag(.dryRun) || invocation.console.isTerminal)
        return redrive
    }

    private static func line(_ letter: DeadLetter, _ fate: Redrive.Fate) -> String {
        let end = fate == .sent ? "-> \(letter.place)" : fate.rawValue
        return "\(letter.record.place)  \(SummaryText.shown(letter.reason))  attempt \(letter.attempt)  \(end)"
    }

    private static func summary(_ tally: Redrive.Tally, isDry: Bool) -> String {
        let sent = tally[.sent] ?? 0
        let rest = Redrive.Fate.allCases.filter { $0 != .sent }.compactMap { fate in
            tally[fate].map { "\($0) \(fate.rawValue)" }
        }
        let first = isDry ? "\(sent) would be sent (--send sends them)" : "\(sent) sent"
        return ([first] + rest).joined(separator: ", ")
    }
}

extension Option {
    fileprivate static let reason = repeated("reason", "NAME", "only letters with this reason, such as not-json")
    fileprivate static let since = value(
        "since", "TIME", "only letters of this time or later: a time, or an age such as 2h")
    fileprivate static let until = value("until", "TIME", "only letters before this time; as --since")
    fileprivate static let letterKey = repeated("key", "TEXT", "only letters with this key")
    fileprivate static let maximalAttempts = value(
        "max-attempts", "NUMBER", "skips letters after more attempts than this; default: 3")
    fileprivate static let journal = value(
        "journal", "FILE", "where to record what was sent; default: beside the state")
    fileprivate static let dryRun = flag("dry-run", "only shows what would be sent")
    fileprivate static let send = flag("send", "sends even on a terminal")
}
