import PushmillEngine
import PushmillStages

extension Command {
    private static let recipient = Option.operand("RECIPIENT", "whose counts they are")
    private static let count = Option.operand("COUNT", "from 0 to 2147483647")
    private static let app = Option.value("app", "TOPIC", "the apns-topic of the app; none unless given")
    fileprivate static let partition = Option.value(
        "partition", "NUMBER", "that of the events, where the recipient is not their key")

    static let badgesGet = Command(
        "badges get", "Prints one recipient's counts",
        details: """
            A line for each app, as `badges export` has them, from the changelog: as of
            the last checkpoint. May be done while the service runs.
            """,
        options: [.config, recipient, partition]
    ) { invocation throws(ProgramError) in
        let recipient = try invocation.required(recipient)
        let changelog = try invocation.changelog()
        let view = try await changelog.view(of: changelog.place(of: recipient, named: invocation.partition()))
        let found = view.exportLines(recipient: Array(recipient.utf8), invocation.print)
        if found == 0 { invocation.surroundings.console.error("no counts are kept of this recipient") }
        return .success
    }

    static let badgesSet = Command(
        "badges set", "Sets one recipient's count in an app; no instance must run",
        details: """
            It is written to the changelog. Refused while the service's group has members.
            """,
        options: [.config, recipient, count, app, partition]
    ) { invocation throws(ProgramError) in
        let recipient = try invocation.required(recipient)
        guard let count = try invocation.value(count, .integer(0...Int(Int32.max))) else { return .usage }
        let app = invocation.text(app) ?? ""
        let changelog = try invocation.changelog()
        try changelog.checkNobodyRuns()
        let place = try changelog.place(of: recipient, named: invocation.partition())
        var key: [UInt8] = []
        Array(recipient.utf8).withUnsafeBytes { recipient in
            Array(app.utf8).withUnsafeBytes { ChangelogRecord.encodeKey(recipient, $0, into: &key) }
        }
        try changelog.set([key], to: Int32(count), try await changelog.view(of: place), in: place)
        return .success
    }

    static let badgesExport = Command(
        "badges export", "Prints all counts",
        details: """
            A line is {"recipient":"anna","app":"com.example","count":3}, from the
            changelog: as of the last checkpoint. May be done while the service runs.
            """,
        options: [.config]
    ) { invocation throws(ProgramError) in
        try await invocation.changelog().export(invocation.print)
        return .success
    }

    static let badgesDelete = Command(
        "badges delete", "Deletes all counts of one recipient; no instance must run",
        details: """
            They are 0 in the changelog afterwards. Refused while the service's group has
            members.
            """,
        options: [.config, recipient, partition]
    ) { invocation throws(ProgramError) in
        let recipient = try invocation.required(recipient)
        let changelog = try invocation.changelog()
        try changelog.checkNobodyRuns()
        let place = try changelog.place(of: recipient, named: invocation.partition())
        let view = try await changelog.view(of: place)
        let keys = view.keys(of: Array(recipient.utf8))
        // A record without a value would be older than the stored state, which would come back.
        try changelog.set(keys, to: 0, view, in: place)
        invocation.surroundings.console.output("\(keys.count) counts deleted")
        return .success
    }
}

extension Invocation {
    fileprivate func changelog() throws(ProgramError) -> ChangelogAccess {
        try ChangelogAccess(configuration(), surroundings.console)
    }

    fileprivate func partition() throws(ProgramError) -> Int? {
        try value(Command.partition, .integer(0...Int(Int32.max)))
    }
}
