import PushmillStores

extension Command {
    private static let owner = Option.value("owner", "RECIPIENT", "only this recipient's contacts")
    private static let person = Option.operand("RECIPIENT", "whose contacts they are; '*' is the shared directory")
    private static let file = Option.operand(
        "CONTACTS", "a file of JSON Lines of owner, id and name; '-' for standard input")

    static let contactsImport = Command(
        "contacts import", "Adds contacts to the embedded store, or renames them",
        details: """
            A line is {"owner": "anna", "id": "c1", "name": "Zoë"}; without an owner it
            belongs to the shared directory. Can be repeated, and may be done while the
            service runs, which sees the change within a second.
            """,
        options: [.config, file]
    ) { invocation throws(ProgramError) in
        let path = try invocation.required(file)
        let state = try invocation.ownContacts(creating: true)
        let console = invocation.surroundings.console
        let clock = ContinuousClock()
        let start = clock.now
        let total = try invocation.store { () throws(StoreError) in
            try ContactStore(state).importLines(path == "-" ? "/dev/stdin" : path) { count in
                guard count % 100_000 == 0 else { return }
                console.error("\(count) contacts so far, in \(Int((clock.now - start) / .milliseconds(1))) ms")
            }
        }
        console.output("\(total) contacts imported")
        return .success
    }

    static let contactsExport = Command(
        "contacts export", "Prints the contacts of the embedded store, as they are imported",
        options: [.config, owner]
    ) { invocation throws(ProgramError) in
        let state = try invocation.stateFile(.shared)
        let owner = invocation.text(owner)
        _ = try invocation.store { () throws(StoreError) in
            let contacts = try ContactStore(state)
            guard let owner else { return try contacts.exportLines(invocation.print) }
            return try owner.withBytes { (owner) throws(StoreError) in
                try contacts.exportLines(owner: owner, invocation.print)
            }
        }
        return .success
    }

    static let contactsDelete = Command(
        "contacts delete", "Deletes all contacts of one recipient from the embedded store",
        details: "May be done while the service runs, which forgets them within a second.",
        options: [.config, person]
    ) { invocation throws(ProgramError) in
        let person = try invocation.required(person)
        let state = try invocation.ownContacts()
        let count = try invocation.store { () throws(StoreError) in
            try person.withBytes { (person) throws(StoreError) in try ContactStore(state).delete(owner: person) }
        }
        invocation.surroundings.console.output("\(count) contacts deleted")
        return .success
    }
}

extension Invocation {
    /// The state, to change its contacts; refused where they are a copy.
    fileprivate func ownContacts(creating: Bool = false) throws(ProgramError) -> StateFile {
        if let topic = try configuration().contactTopic {
            throw .badData("the contacts are a copy of the topic \(topic.name): publish there what is to change")
        }
        return try stateFile(.shared, creating: creating)
    }
}
