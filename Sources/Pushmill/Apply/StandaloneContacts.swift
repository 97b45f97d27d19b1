import Glibc
import Push
import Stores

/// Contacts for a command that runs beside the service or without one: it makes no state file and asks no broker.
enum StandaloneContacts {
    static func open(_ source: ContactSource, statePath: String) throws -> any ContactBook {
        switch source {
        case .file(let path):
            return try ContactFile(path: path)
        case .state:
            guard access(statePath, F_OK) == 0 else {
                throw ContactsUnavailable("there is no \(statePath) yet to read contacts from")
            }
            return try StoredContacts(StateFile(path: statePath, access: .shared))
        case .topic(let name):
            throw ContactsUnavailable("contacts of the topic \(name) are there in a running service only")
        }
    }
}
