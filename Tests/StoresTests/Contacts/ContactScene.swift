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

    /// The contacts as they are exported, each as `owner/id=name`.
    func list(_ owner: String? = nil) throws -> [String] {
        var bytes: [UInt8] = []
        if let owner {
            _ = try owner.withBytes { (owner) throws(StoreError) in
                try store.exportLines(owner: owner) { bytes += $0 }
            }
        } else {
            _ = try store.exportLines { bytes += $0 }
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { line in
            String(line.dropFirst(#"{"owner":""#.count).dropLast(#""}"#.count))
                .replacing(#"","id":""#, with: "/").replacing(#"","name":""#, with: "=")
        }
    }
}
