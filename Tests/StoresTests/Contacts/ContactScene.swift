import PushmillTestSupport

@testable import PushmillStores

/// A state file with its contacts. A class, because a suite is copied.
final class ContactScene {
    let folder: TemporaryFolder
    let state: StateFile
    let store: ContactStore

    init() throws {
        folder = try TemporaryFolder()
        state = try StateFile(path: folder.stateFile, access: .shared)
        store = try ContactStore(state)
    }

    func list(_ owner: String? = nil) throws -> [String] {
        var texts: [String] = []
        func add(_ owner: RawSpan, _ id: RawSpan, _ name: RawSpan) {
            texts.append("\(owner.text)/\(id.text)=\(name.text)")
        }
        guard let owner else {
            try store.forEach(add)
            return texts
        }
        try owner.withBytes { (owner) throws(StoreError) in try store.forEach(owner: owner, add) }
        return texts
    }
}
