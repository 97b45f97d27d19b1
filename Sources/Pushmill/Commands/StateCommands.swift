import PushmillEngine
import PushmillKafka
import PushmillPayload
import PushmillStages
import PushmillStores

extension Command {
    fileprivate static let recipient = Option.operand("RECIPIENT", "the recipient of the counts")
    fileprivate static let encoded = Option.flag(
        "base64", "RECIPIENT is in base64, as recipient_b64 in 'badges export' is")
    private static let count = Option.operand("COUNT", "from 0 to 2147483647")
    private static let app = Option.value("app", "TOPIC", "the app's apns-topic; default: none")
    fileprivate static let partition = Option.value(
        "partition", "NUMBER", "the partition of the recipient's events, if known; reads only this one")

    static let badgesGet = Command(
        name: "badges get", summary: "Prints one recipient's counts",
        details: """
            Prints a line per app, in the format of 'badges export', from the changelog as
            of the last checkpoint. The service may be running. Reads the whole changelog
            unless --partition is given.
            """,
        options: [.config, recipient, encoded, partition]
    ) { invocation in
        let recipient = try invocation.recipient()
        var found = 0
        try invocation.changelog().forEachView(of: invocation.partition()) { _, view in
            found += view.exportLines(recipient: recipient, invocation.print)
        }
        if found == 0 { invocation.console.error("no counts for this recipient") }
        return .success
    }

    static let badgesSet = Command(
        name: "badges set", summary: "Sets a recipient's count in an app; stop all instances first",
        details: """
            Writes to the changelog: to --partition if given, else to the partition with the
            recipient's counts, else to the one that Java clients choose for the recipient
            as key. Fails while the service's group has members, and if the topic is not
            compacted or has other records and no counts.
            """,
        options: [.config, recipient, count, app, encoded, partition]
    ) { invocation in
        let recipient = try invocation.recipient()
        guard let count = try invocation.value(count, .integer(0...Int(Int32.max))) else { return .usage }
        let app = invocation.text(app) ?? ""
        var key: [UInt8] = []
        let isAccount = recipient.withUnsafeBytes { recipient in
            Array(app.utf8).withUnsafeBytes { app in
                ChangelogRecord.encodeKey(recipient, app, into: &key)
                return Chain.isAccount(recipient, app)
            }
        }
        guard isAccount else {
            throw ProgramError.usage("a recipient that is empty or, with its app, over 4096 bytes is never counted")
        }
        let changelog = try invocation.changelog()
        try changelog.checkMayChange()
        let number = try invocation.partition()
        let usual = changelog.partition(of: recipient)
        var found: (partition: TopicPartition, view: ChangelogView, isHere: Bool)?
        try changelog.forEachView(of: number) { partition, view in
            // In any app, even if the counts are 0: all events of a recipient are in one partition.
            let isHere = !view.keys(of: recipient, { $0 != CountState(count: 0) }).isEmpty
            if let found, isHere, found.isHere {
                throw ProgramError.badData(
                    "counts are in \(found.partition) and in \(partition): choose one with --partition")
            }
            if isHere || found == nil && (partition == usual || number != nil) { found = (partition, view, isHere) }
        }
        guard let found else { throw ProgramError.badData("the changelog has no partitions") }
        try changelog.set([key], to: Int32(count), found.view, in: found.partition)
        return .success
    }

    static let badgesExport = Command(
        name: "badges export", summary: "Prints all counts",
        details: """
            A line is {"recipient":"anna","app":"com.example","count":3}, from the
            changelog as of the last checkpoint. The service may be running.
            """,
        options: [.config]
    ) { invocation in
        try invocation.changelog().forEachView { _, view in _ = view.exportLines(invocation.print) }
        return .success
    }

    static let badgesDelete = Command(
        name: "badges delete", summary: "Sets all counts of a recipient to 0; stop all instances first",
        details: """
            Writes zeros to the changelog. Reads the whole changelog unless --partition is
            given. Fails while the service's group has members.
            """,
        options: [.config, recipient, encoded, partition]
    ) { invocation in
        let recipient = try invocation.recipient()
        let changelog = try invocation.changelog()
        try changelog.checkMayChange()
        var count = 0
        try changelog.forEachView(of: invocation.partition()) { partition, view in
            let keys = view.keys(of: recipient)
            // A tombstone would be older than the stored state, which would come back.
            if !keys.isEmpty { try changelog.set(keys, to: 0, view, in: partition) }
            count += keys.count
        }
        invocation.console.output("\(count) counts deleted")
        return .success
    }
}

extension Invocation {
    fileprivate func changelog() throws -> ChangelogAccess {
        try ChangelogAccess(configuration(), console)
    }

    /// The recipient as bytes, in base64 if the shell cannot pass them.
    fileprivate func recipient() throws(ProgramError) -> [UInt8] {
        let text = try required(Command.recipient)
        guard flag(Command.encoded) else { return Array(text.utf8) }
        var bytes: [UInt8] = []
        guard Base64.decode(text.utf8Span.span, into: &bytes) else {
            throw .usage("\(Command.recipient.label): expected base64, found '\(text)'")
        }
        return bytes
    }

    fileprivate func partition() throws(ProgramError) -> Int? {
        try value(Command.partition, .integer(0...Int(Int32.max)))
    }
}

extension Command {
    private static let owner = Option.value("owner", "RECIPIENT", "only this recipient's contacts")
    private static let person = Option.operand("RECIPIENT", "the owner of the contacts; '*' is the shared directory")
    private static let contact = Option.value("id", "ID", "only the contact with this id; default: all")
    private static let file = Option.operand(
        "CONTACTS", "a file of JSON Lines with owner, id and name; '-' for standard input")

    static let contactsImport = Command(
        name: "contacts import", summary: "Adds contacts to the embedded store, or renames them",
        details: """
            A line is {"owner": "anna", "id": "c1", "name": "Zoë"}; without an owner it
            belongs to the shared directory. May be repeated. The service may be running,
            and sees the change within a second. A line that cannot be read ends the
            import; what precedes it stays.
            """,
        options: [.config, file]
    ) { invocation in
        let path = try invocation.required(file)
        let configuration = try invocation.configuration()
        if let path = configuration.contactFile {
            throw ProgramError.badData("the contacts come from the file \(path): change them there")
        }
        let state = try configuration.ownContacts(creating: true)
        let console = invocation.console
        var count = 0
        do {
            _ = try ContactStore(state).importLines(path) {
                count = $0
                console.status?("\($0) contacts")
            }
        } catch {
            console.status?("")
            if count > 0 { console.error("contacts imported before this error: \(count)") }
            throw error
        }
        console.status?("")
        console.output("\(count) contacts imported")
        return .success
    }

    static let contactsExport = Command(
        name: "contacts export", summary: "Prints the embedded store's contacts in import format",
        options: [.config, owner]
    ) { invocation in
        let configuration = try invocation.configuration()
        configuration.warnOfFile(invocation.console)
        let contacts = try ContactStore(configuration.state.open(creating: false))
        if let owner = invocation.text(owner) {
            _ = try contacts.exportLines(owner: owner.utf8Span.span.bytes, invocation.print)
        } else {
            _ = try contacts.exportLines(invocation.print)
        }
        return .success
    }

    static let contactsDelete = Command(
        name: "contacts delete", summary: "Deletes one recipient's contacts from the embedded store, all or one",
        details: "The service may be running, and sees the change within a second.",
        options: [.config, person, contact]
    ) { invocation in
        let person = try invocation.required(person)
        let configuration = try invocation.configuration()
        configuration.warnOfFile(invocation.console)
        let state = try configuration.ownContacts(creating: false)
        let store = try ContactStore(state)
        let count =
            if let contact = invocation.text(contact) {
                try store.delete(owner: person.utf8Span.span.bytes, id: contact.utf8Span.span.bytes)
            } else {
                try store.delete(owner: person.utf8Span.span.bytes)
            }
        invocation.console.output("\(count) contacts deleted")
        if try !store.clearLog() {
            invocation.console.error(
                "warning: another program is reading the contacts, so \(state.path)-wal still has the deleted ones: "
                    + "repeat this when it has ended")
        }
        return .success
    }
}

extension Configuration {
    /// The state, to change its contacts; throws if they are a copy of a topic.
    fileprivate func ownContacts(creating: Bool) throws -> StateFile {
        if let topic = contactTopic {
            throw ProgramError.badData(
                "the contacts are a copy of the topic \(topic.name): publish changes there")
        }
        return try state.open(creating: creating)
    }

    /// Warns if the contacts come from a file: then the embedded store has none of them, but may have earlier ones.
    fileprivate func warnOfFile(_ console: Console) {
        guard let path = contactFile else { return }
        console.error("warning: the service reads contacts from the file \(path): view and change them there")
    }
}

extension Invocation {
    /// Prints lines that have their line ends.
    fileprivate func print(_ lines: [UInt8]) { console.output(String(decoding: lines, as: UTF8.self)) }
}
