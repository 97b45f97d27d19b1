@testable import PushmillLocalization
@testable import PushmillPayload
@testable import PushmillStages

/// A contact book of a few names, by `owner/id`.
final class ListedContacts: ContactBook {
    private let names: [String: String]
    private let isUnavailable: Bool

    init(_ names: [String: String], isUnavailable: Bool = false) {
        self.names = names
        self.isUnavailable = isUnavailable
    }

    func find(
        _ id: RawSpan, of owner: RawSpan, _ body: (Span<UInt8>, TextDirection) -> Void
    ) throws(ContactsUnavailable) -> Bool {
        guard !isUnavailable else { throw ContactsUnavailable("no disk") }
        guard let name = names["\(Self.text(owner))/\(Self.text(id))"] else { return false }
        let bytes = ContactName.clean(name.utf8Span.span.bytes)
        body(bytes.span, TextDirection(of: bytes.span))
        return true
    }

    private static func text(_ bytes: RawSpan) -> String {
        bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    static let sample = ListedContacts([
        "anna/c1": "Zoë Martin", "anna/c2": "علي حسن", "anna/c3": "{contact:c1}",
        "anna/c4": "Bad\u{202E}Guy\u{0}\u{7}!",
        "anna/c5": "Zoë علي", "boris/c1": "Мама", "*/c9": "Public Name", "*/c1": "Directory Zoe", "anna/42": "3 + 4",
    ])
}

extension StageContext {
    /// For calling a stage directly.
    static func sample(_ chain: Chain) -> StageContext {
        let record = InputRecord()
        return StageContext(deadline: .never, limit: .never, wallClock: 0, count: nil, record: record, chain: chain)
    }
}
