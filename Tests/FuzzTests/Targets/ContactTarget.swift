@testable import Stores

/// A line of contacts is an id with a name, or is refused with a reason.
final class ContactTarget: FuzzTarget {
    static let names = ["contacts"]

    init(_ name: String) {}

    func run(_ bytes: [UInt8]) throws {
        var members = ContactMembers()
        do {
            try bytes.withUnsafeBytes { try members.read($0) }
            let key = try members.key()
            let name = try members.name()
            try members.withKey(key) { (_, id) throws(BrokenPromise) in
                try promise(id.byteCount > 0, "a contact without an id")
            }
            try members.withText(of: name) { (name) throws(BrokenPromise) in
                let text = name.withUnsafeBytes { String(validating: $0, as: UTF8.self) }
                try promise(text != nil, "a name that is no text")
            }
        } catch let error as ContactMembers.Malformed {
            try promise(!error.what.isEmpty, "refused without a reason")
        }
    }
}
