import Glibc
package import PushmillPayload

/// The members of an alert that its texts are made of. Of those with the same name the last one put in counts.
package struct AlertMembers {
    private enum Kind: Int { case text, key, arguments }

    private var nodes = InlineArray<9, JSONNode?>(repeating: nil)

    package init() {}

    package var isEmpty: Bool {
        for place in nodes.indices where nodes[place] != nil { return false }
        return true
    }

    /// Takes a member of an alert if it is one of these.
    package mutating func insert(_ node: JSONNode, of document: JSONDocument) {
        let place = document.withName(of: node) { Self.place(of: $0) } ?? nil
        if let place { nodes[place] = node }
    }

    /// Takes an alert that is a string.
    package mutating func insert(body alert: JSONNode) { nodes[Self.place(.body, .text)] = alert }

    package func text(_ text: AlertText) -> JSONNode? { nodes[Self.place(text, .text)] }
    package func key(of text: AlertText) -> JSONNode? { nodes[Self.place(text, .key)] }
    package func arguments(of text: AlertText) -> JSONNode? { nodes[Self.place(text, .arguments)] }

    private static func place(_ text: AlertText, _ kind: Kind) -> Int {
        switch text {
        case .title: kind.rawValue
        case .subtitle: 3 + kind.rawValue
        case .body: 6 + kind.rawValue
        }
    }

    /// A name's length leaves one that it may be, or two.
    private static func place(of name: Span<UInt8>) -> Int? {
        switch name.count {
        case 4: place(.body, .text, if: name, is: AlertText.body.member)
        case 5: place(.title, .text, if: name, is: AlertText.title.member)
        case 7: place(.body, .key, if: name, is: AlertText.body.keyMember)
        case 8:
            place(.subtitle, .text, if: name, is: AlertText.subtitle.member)
                ?? place(.body, .arguments, if: name, is: AlertText.body.argumentsMember)
        case 13: place(.title, .key, if: name, is: AlertText.title.keyMember)
        case 14: place(.title, .arguments, if: name, is: AlertText.title.argumentsMember)
        case 16: place(.subtitle, .key, if: name, is: AlertText.subtitle.keyMember)
        case 17: place(.subtitle, .arguments, if: name, is: AlertText.subtitle.argumentsMember)
        default: nil
        }
    }

    private static func place(
        _ text: AlertText, _ kind: Kind, if name: Span<UInt8>, is wanted: StaticString
    ) -> Int? {
        let isWanted = name.withUnsafeBytes { name in
            guard name.count == wanted.utf8CodeUnitCount, let start = name.baseAddress else { return false }
            return memcmp(start, wanted.utf8Start, name.count) == 0
        }
        return isWanted ? place(text, kind) : nil
    }
}

extension NotificationContent {
    package var alertMembers: AlertMembers {
        var members = AlertMembers()
        guard let alert else { return members }
        document.forEachChild(of: alert) { members.insert($0, of: document) }
        return members
    }
}
