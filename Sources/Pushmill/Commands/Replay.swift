import PushmillStages
import PushmillReplay

extension Command {
    static let replay = Command(
        "replay", "Runs recorded input through a configuration and shows what would change",
        details: """
            INPUT is a capture, or topic:NAME. What comes of each record is compared with
            the baseline: a golden capture, or topic:NAME for recorded outputs (several, if
            dead letters have a topic of their own), found by pushmill-source. Nothing
            outside is touched; each record's timestamp is the clock, and no deadline
            comes but those that the baseline tells of (--deadlines recorded).

            Ends with 0 if all is the same, with 1 if not, and with 65 if something cannot
            be read. --update writes what came out into the golden capture.
            """,
        options: [.input, .config, .baseline] + RangeOptions.all
            + [
                .ignore, .onlyKey, .onlyCategory, .onlyOutcome, .badges, .deadlines, .lanes, .json, .junit, .html,
                .update,
            ]
    ) { invocation throws(ProgramError) in
        try await ReplayCommand(invocation).run()
    }
}

extension Option {
    static let input = operand("INPUT", "a capture, or topic:NAME")
    static let baseline = repeated("baseline", "FILE", "what to compare with: a golden capture, or topic:NAME")
    static let ignore = repeated(
        "ignore", "FIELD", "may differ: a JSON Pointer, header:NAME, key, timestamp, payload or layout")
    static let onlyKey = repeated("key", "TEXT", "compares the records of this key only")
    static let onlyCategory = repeated("category", "TEXT", "compares notifications of this category only")
    static let onlyOutcome = repeated("outcome", "NAME", "compares records that end so, or ended so")
    static let deadlines = value(
        "deadlines", "KIND", "off, which it is unless given, or recorded: what was late in the baseline is late again")
    static let lanes = value("lanes", "NUMBER", "how many threads; one a core unless given")
    static let json = value("json", "FILE", "writes every difference and the totals as JSON")
    static let junit = value("junit", "FILE", "writes a report for continuous integration")
    static let html = value("html", "FILE", "writes a page that shows each difference")
    static let update = flag("update", "writes what came out into the golden capture")
}
