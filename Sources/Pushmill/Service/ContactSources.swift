import Glibc
import Kafka
import Push
import Stores
import Synchronization
import Telemetry
import Worker

/// Opens what a contact stage names as its source.
final class ContactSources: Sendable {
    /// Follows a topic into the state.
    typealias Follow = @Sendable (_ topic: String, StateFile) throws -> ContactFollower

    private let statePath: String
    private let watcher: FileWatcher
    private let follow: Follow?
    private let followed = Mutex<ContactFollower?>(nil)

    /// Without `follow` nothing is created or followed: contacts are those that the state has.
    init(statePath: String, watcher: FileWatcher, follow: Follow? = nil) {
        self.statePath = statePath
        self.watcher = watcher
        self.follow = follow
    }

    /// The follower of the topic that was opened.
    var follower: ContactFollower? { followed.withLock { $0 } }

    func open(_ source: ContactSource) throws -> any ContactBook {
        switch source {
        case .state:
            return try StoredContacts(try state(.shared))
        case .file(let path):
            let contacts = try ContactFile(path: path)
            watcher.add(contacts.file)
            return contacts
        case .topic(let name):
            guard let follow else { return try StoredContacts(try state(.shared)) }
            // Two that follow would be in each other's way.
            let state = try state(.alone)
            let follower = try follow(name, state)
            followed.withLock { $0 = follower }
            return try StoredContacts(state)
        }
    }

    private func state(_ access: StateFile.Access) throws -> StateFile {
        guard follow != nil || Glibc.access(statePath, F_OK) == 0 else {
            throw ContactsUnavailable("there is no state at \(statePath)")
        }
        return try StateFile(path: statePath, access: access)
    }
}
