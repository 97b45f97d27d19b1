import PushmillPayload
import PushmillReplay
import PushmillStages

extension Command {
    static let apply = Command(
        name: "apply", summary: "Runs the chain on one payload, without Kafka",
        details: """
            Reads the payload from the input and prints what would be published; how it
            ended goes to the error output. Ends with 65 where it would be a dead letter.
            With --lines, records come and go as kcat -J prints them, one a line, dead
            letters among them, and each record's timestamp is the clock.

            Badges count in memory, from 0 or from --badges; nothing that the
            configuration names is written.
            """,
        options: [.config, .key, .header, .explain, .lines, .badges]
    ) { invocation in
        for option in [Option.config, .badges] where invocation.text(option).map(InputFile.isStandardInput) ?? false {
            throw ProgramError.usage("\(option.label): what the chain is run on comes from the standard input")
        }
        let configuration = try invocation.configuration()
        let console = invocation.console
        let explanation = invocation.flag(.explain) ? Explanation(console) : nil
        let counts = try invocation.badgeCounts() ?? BadgeCounts()
        let candidate = try await configuration.candidate(console, explanation: explanation, counts: counts) {
            severity, stage, source, message in
            console.error("\(severity): \(stage): \(source): \(message)")
        }
        let application = Application(
            candidate: candidate, rehearsal: Rehearsal(candidate.chain, counts: counts), console: console,
            explanation: explanation)
        guard !invocation.flag(.lines) else {
            for option in [Option.key, .header] where !invocation.texts(option).isEmpty {
                throw ProgramError.usage("\(option.label) goes with a single payload, not with --lines")
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
            throw .usage("\(Option.header.label): expected a name, '=' and a value, found '\(text)'")
        }
        return RecordEnvelope.Header(
            name: Array(text.utf8[..<equals]), value: Array(text.utf8[equals...].dropFirst()))
    }
}

extension Option {
    fileprivate static let key = value("key", "TEXT", "the record's key")
    fileprivate static let header = repeated("header", "NAME=VALUE", "a header of the record")
    fileprivate static let explain = flag("explain", "tells what each stage did, and how long it took")
    fileprivate static let lines = flag("lines", "reads and writes records, one a line, instead of a payload")
}
