import Push
import Stores

extension Command {
    private static let recipient = Option.operand("RECIPIENT", "whose counts they are")
    private static let count = Option.operand("COUNT", "from 0 to 2147483647")
    private static let app = Option.value("app", "TOPIC", "the apns-topic of the app; none unless given")
    fileprivate static let partition = Option.value(
        "partition", "NUMBER", "with exactly-once: that of the events, where the recipient is not their key")

    static let badgesGet = Command(
        "badges get", "Prints one recipient's counts as of the last checkpoint",
        details: """
            A line for each app, as `badges export` has them. May be done while the
            service runs. With exactly-once they are read from the changelog.
            """,
        options: [.config, recipient, partition]
    ) { invocation throws(ProgramError) in
        let recipient = try invocation.required(recipient)
        var found = 0
        if let changelog = try invocation.changelog() {
            let view = try await changelog.view(of: changelog.place(of: recipient, named: invocation.partition()))
            found = recipient.withBytes { view.exportLines(recipient: $0, invocation.print) }
        } else {
            let state = try invocation.stateFile(.shared)
            found = try invocation.store { () throws(StoreError) in
                try recipient.withBytes { (recipient) throws(StoreError) in
                    try BadgeTable(state).exportLines(recipient: recipient, invocation.print)
                }
            }
        }
        if found == 0 { invocation.surroundings.console.error("no counts are kept of this recipient") }
        return .success
    }

    static let badgesSet = Command(
        "badges set", "Sets one recipient's count in an app; the service must not run",
        details: """
            With exactly-once it is written to the changelog: no instance must run.
            """,
        options: [.config, recipient, count, app, partition]
    ) { invocation throws(ProgramError) in
        let recipient = try invocation.required(recipient)
        guard let count = try invocation.value(count, .integer(0...Int(Int32.max))) else { return .usage }
        let app = invocation.text(app) ?? ""
        if let changelog = try invocation.changelog() {
            let place = try changelog.place(of: recipient, named: invocation.partition())
            try recipient.withBytes { (recipient) throws(ProgramError) in
                try app.withBytes { (app) throws(ProgramError) in
                    try changelog.set(recipient, app, to: Int32(count), in: place)
                }
            }
            return .success
        }
        let state = try invocation.stateFile(.alone, creating: true)
        try invocation.store { () throws(StoreError) in
            try recipient.withBytes { (recipient) throws(StoreError) in
                try app.withBytes { (app) throws(StoreError) in
                    try BadgeTable(state).set(recipient: recipient, app: app, to: Int32(count))
                }
            }
        }
        return .success
    }

    static let badgesExport = Command(
        "badges export", "Prints all counts as of the last checkpoint",
        details: """
            A line is {"recipient":"anna","app":"com.example","count":3}. May be done while
            the service runs. With exactly-once they are read from the changelog.
            """,
        options: [.config]
    ) { invocation throws(ProgramError) in
        if let changelog = try invocation.changelog() {
            try await changelog.export(invocation.print)
        } else {
            let state = try invocation.stateFile(.shared)
            _ = try invocation.store { () throws(StoreError) in try BadgeTable(state).exportLines(invocation.print) }
        }
        return .success
    }

    static let badgesDelete = Command(
        "badges delete", "Deletes all counts of one recipient; the service must not run",
        details: """
            With exactly-once they are deleted from the changelog: no instance must run.
            """,
        options: [.config, recipient, partition]
    ) { invocation throws(ProgramError) in
        let recipient = try invocation.required(recipient)
        let deleted: Int
        if let changelog = try invocation.changelog() {
            let place = try changelog.place(of: recipient, named: invocation.partition())
            let view = try await changelog.view(of: place)
            let keys = recipient.withBytes { view.keys(of: $0) }
            try changelog.delete(keys, in: place)
            deleted = keys.count
        } else {
            let state = try invocation.stateFile(.alone)
            deleted = try invocation.store { () throws(StoreError) in
                try recipient.withBytes { (recipient) throws(StoreError) in
                    try BadgeTable(state).delete(recipient: recipient)
                }
            }
        }
        invocation.surroundings.console.output("\(deleted) counts deleted")
        return .success
    }
}

extension Invocation {
    /// nil where the configuration keeps counts in the embedded state.
    fileprivate func changelog() throws(ProgramError) -> ChangelogAccess? {
        try ChangelogAccess(configuration(), surroundings.console)
    }

    fileprivate func partition() throws(ProgramError) -> Int? {
        try value(Command.partition, .integer(0...Int(Int32.max)))
    }
}
