/// The members of an alert that its texts are made of. Of those with the same name the last one put in counts.
package struct AlertMembers {
    private var nodes = InlineArray<9, JSONNode?>(repeating: nil)

    package init() {}

    package var isEmpty: Bool {
        for place in nodes.indices where nodes[place] != nil { return false }
        return true
    }

    /// Takes a member of an alert if it is one of these.
    package mutating func insert(_ node: JSONNode, of document: JSONDocument) {
        let name = document.records[document.place(of: node)].name
        if name.isOfText { self[name] = node }
    }

    /// Takes an alert that is a string.
    package mutating func insert(body alert: JSONNode) { self[.body] = alert }

    package func text(_ text: AlertText) -> JSONNode? { self[text.name] }
    package func key(of text: AlertText) -> JSONNode? { self[text.keyName] }
    package func arguments(of text: AlertText) -> JSONNode? { self[text.argumentsName] }

    private subscript(name: MemberName) -> JSONNode? {
        get { nodes[Int(name.rawValue - MemberName.title.rawValue)] }
        set { nodes[Int(name.rawValue - MemberName.title.rawValue)] = newValue }
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
