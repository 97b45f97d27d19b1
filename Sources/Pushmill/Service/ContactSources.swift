import Push
import Stores

/// Opens what a contact stage names as its source.
struct ContactSources: Sendable {
    let statePath: String
    let watcher: FileWatcher

    func open(_ source: ContactSource) throws -> any ContactBook {
        switch source {
        case .state:
            return try StoredContacts(try StateFile(path: statePath, access: .shared))
        case .file(let path):
            let contacts = try ContactFile(path: path)
            watcher.add(contacts.file)
            return contacts
        case .topic(let name):
            throw ContactsUnavailable("contacts from a topic (\(name)) are not read yet")
        }
    }
}
