import PushmillPayload
import PushmillReplay
import PushmillStages

extension Command {
    static let apply = Command(
        name: "apply", summary: "Runs the chain on one payload, without Kafka",
        details: """
            Reads a payload from standard input and prints the payload that would be
            published; the outcome goes to standard error. Exits with 65 if it would be a
            dead letter. With --lines, reads and writes records in the format of kcat -J,
            one per line, dead letters included; the chain's clock shows each record's own
            timestamp.

            Badges are counted in memory, from 0 or from --badges. Nothing that the
            configuration names is written.
            """,
        options: [.config, .key, .header, .explain, .lines, .badges]
    ) { invocation in
        for option in [Option.config, .badges] where invocation.text(option).map(InputFile.isStandardInput) ?? false {
            throw ProgramError.usage("\(option.label): must be a file, because 'apply' reads its input there")
        }
        let configuration = try invocation.configuration()
        let console = invocation.console
        let explanation = invocation.flag(.explain) ? Explanation(console) : nil
        let counts = try invocation.badgeCounts() ?? BadgeCounts()
        let candidate = try await configuration.candidate(
            counts: counts, observer: explanation, tell: console.error,
            log: { console.error("\($0): \($1): \($2): \($3)") })
        explanation?.name(candidate.chain.links.map(\.stage.name))
        let application = Application(
            candidate: candidate, rehearsal: Rehearsal(candidate.chain, counts: counts), console: console,
            explanation: explanation)
        guard !invocation.flag(.lines) else {
            for option in [Option.key, .header] where !invocation.texts(option).isEmpty {
                throw ProgramError.usage("\(option.label) is not allowed with --lines")
            }
            return try await application.applyLines()
        }
        var envelope = RecordEnvelope()
        envelope.topic = configuration.topics.input.first ?? ""
        envelope.key = invocation.text(.key).map { Array($0.utf8) }
        envelope.headers = try invocation.texts(.header).map(header)
        return try await application.apply(envelope)
    }

    private static func header(_ text: String) throws(ProgramError) -> RecordEnvelope.Header {
        guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")), equals > text.startIndex else {
            throw .usage("\(Option.header.label): expected NAME=VALUE, found '\(text)'")
        }
        return RecordEnvelope.Header(
            name: Array(text.utf8[..<equals]), value: Array(text.utf8[equals...].dropFirst()))
    }
}

extension Option {
    fileprivate static let key = value("key", "TEXT", "the record's key")
    fileprivate static let header = repeated("header", "NAME=VALUE", "a record header")
    fileprivate static let explain = flag("explain", "reports what each stage did and how long it took")
    fileprivate static let lines = flag("lines", "reads and writes records, one per line, instead of a payload")
}
