import Glibc
import PushmillStages
import PushmillStores

/// Opens what a contact stage names as its source.
struct ContactSources: Sendable {
    let statePath: String
    /// Whether state that is not there yet is created.
    let mayCreate: Bool
    let watcher: FileWatcher

    func open(_ source: ContactSource) throws -> any ContactBook {
        switch source {
        // A topic's contacts are kept in the state by `TopicContacts`, which follows it.
        case .state, .topic:
            guard mayCreate || access(statePath, F_OK) == 0 else {
                throw ContactsUnavailable("there is no state at \(statePath)")
            }
            return try StoredContacts(try StateFile(path: statePath, access: .shared))
        case .file(let path):
            let contacts = try ContactFile(path: path)
            watcher.add(contacts.file, of: "contact")
            return contacts
        }
    }
}
