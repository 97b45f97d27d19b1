import Push
import Stores

extension Command {
    private static let recipient = Option.operand("RECIPIENT", "whose counts they are")
    private static let count = Option.operand("COUNT", "from 0 to 2147483647")
    private static let app = Option.value("app", "TOPIC", "the apns-topic of the app; none unless given")

    static let badgesGet = Command(
        "badges get", "Prints one recipient's counts as of the last checkpoint",
        details: """
            A line for each app, as `badges export` has them. May be done while the
            service runs.
            """,
        options: [.config, recipient]
    ) { invocation throws(ProgramError) in
        let recipient = try invocation.required(recipient)
        let state = try invocation.stateFile(.shared)
        let found = try invocation.store { () throws(StoreError) in
            try recipient.withBytes { (recipient) throws(StoreError) in
                try BadgeTable(state).exportLines(recipient: recipient, invocation.print)
            }
        }
        if found == 0 { invocation.surroundings.console.error("no counts are kept of this recipient") }
        return .success
    }

    static let badgesSet = Command(
        "badges set", "Sets one recipient's count in an app; the service must not run",
        options: [.config, recipient, count, app]
    ) { invocation throws(ProgramError) in
        let recipient = try invocation.required(recipient)
        guard let count = try invocation.value(count, .integer(0...Int(Int32.max))) else { return .usage }
        let app = invocation.text(app) ?? ""
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
            the service runs.
            """,
        options: [.config]
    ) { invocation throws(ProgramError) in
        let state = try invocation.stateFile(.shared)
        _ = try invocation.store { () throws(StoreError) in try BadgeTable(state).exportLines(invocation.print) }
        return .success
    }

    static let badgesDelete = Command(
        "badges delete", "Deletes all counts of one recipient; the service must not run",
        options: [.config, recipient]
    ) { invocation throws(ProgramError) in
        let recipient = try invocation.required(recipient)
        let state = try invocation.stateFile(.alone)
        let deleted = try invocation.store { () throws(StoreError) in
            try recipient.withBytes { (recipient) throws(StoreError) in
                try BadgeTable(state).delete(recipient: recipient)
            }
        }
        invocation.surroundings.console.output("\(deleted) counts deleted")
        return .success
    }
}
