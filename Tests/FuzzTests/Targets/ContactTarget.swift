import PushmillStages

@testable import PushmillStores

/// A line of contacts is an ID with a name that is found again, or it is refused with a reason.
final class ContactTarget: FuzzTarget {
    static let names = ["contacts"]

    init(_ name: String) {}

    func run(_ bytes: [UInt8]) throws {
        var members = ContactMembers()
        do {
            try bytes.withUnsafeBytes { try members.read($0) }
            let key = try members.key()
            let name = try members.name()
            try members.withKey(key) { (owner, id) throws(BrokenPromise) in
                try promise(id.byteCount > 0, "a contact without an id")
                try members.withText(of: name) { (name) throws(BrokenPromise) in try keep(owner, id, name) }
            }
        } catch let error as ContactMembers.Malformed {
            try promise(!error.what.isEmpty, "refused without a reason")
        }
    }

    private func keep(_ owner: RawSpan, _ id: RawSpan, _ name: RawSpan) throws(BrokenPromise) {
        let text = name.withUnsafeBytes { String(validating: $0, as: UTF8.self) }
        try promise(text != nil, "a name that is no text")
        let name = ContactName.clean(name)
        guard max(owner.byteCount, id.byteCount, name.count) <= ContactEntry.longest else { return }
        var entries: [UInt8] = []
        ContactEntry.append(id, 7, name, to: &entries)
        let found = entries.withUnsafeBytes { bytes in
            bytes.baseAddress.flatMap {
                ContactEntry.find(id, 7, from: $0, to: $0 + bytes.count).map { Array($0.name) }
            }
        }
        try promise(found != nil, "a contact that is not found")
        try promise(found == name, "found under another name")
        try promise(String(validating: name, as: UTF8.self) != nil, "a cleaned name that is no text")
    }
}
