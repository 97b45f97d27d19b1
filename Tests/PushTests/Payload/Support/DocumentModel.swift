/// A JSON document by its spelling: the plain counterpart of `JSONDocument`, written only for clarity.
indirect enum DocumentModel {
    case scalar(String)
    case container(Container)

    struct Container {
        let isObject: Bool
        /// The children in the text, in order.
        var children: [Child]
        /// The children that edits have added.
        var added: [Child] = []
        /// The white space of a container without children.
        var blank = ""
    }

    /// In the text: `before`, name and colon, value, `after`, then a comma or the closing bracket.
    struct Child {
        var before = ""
        var name: String?
        /// The name as it is spelled, and the colon with the white space around it; empty for an element.
        var label = ""
        var value: DocumentModel
        var after = ""
        var isRemoved = false
    }

    /// The expected text after the edits.
    var text: String {
        switch self {
        case .scalar(let spelling): return spelling
        case .container(let container): return container.text
        }
    }
}

extension DocumentModel.Container {
    var text: String {
        let brackets = isObject ? ("{", "}") : ("[", "]")
        var parts: [String] = []
        var separators: [String] = []
        for (index, child) in children.enumerated() where !child.isRemoved {
            separators.append(index == 0 ? "" : children[index - 1].after + "," + child.before)
            parts.append(child.label + child.value.text)
        }
        for child in added where !child.isRemoved {
            separators.append(",")
            parts.append(child.label + child.value.text)
        }
        guard !parts.isEmpty else {
            return brackets.0 + (children.isEmpty && added.isEmpty ? blank : "") + brackets.1
        }
        separators[0] = children.first?.before ?? ""
        let body = zip(separators, parts).map { $0 + $1 }.joined()
        return brackets.0 + body + (children.last?.after ?? "") + brackets.1
    }

    /// The child, not removed, that counts under this name or at this position.
    func place(_ token: String) -> WritableKeyPath<Self, DocumentModel.Child>? {
        let places =
            children.indices.map { \Self.children[$0] } + added.indices.map { \Self.added[$0] }
        let live = places.filter { !self[keyPath: $0].isRemoved }
        if isObject { return live.last { self[keyPath: $0].name == token } }
        guard let position = Int(token), live.indices.contains(position) else { return nil }
        return live[position]
    }
}

extension DocumentModel {
    subscript(path: ArraySlice<String>) -> DocumentModel? {
        guard let token = path.first else { return self }
        guard case .container(let container) = self, let place = container.place(token) else { return nil }
        return container[keyPath: place].value[path.dropFirst()]
    }

    /// Sets an existing value, or adds an element or a member, with missing objects on the way. False if impossible.
    mutating func set(_ spelling: String, at path: ArraySlice<String>) -> Bool {
        guard let token = path.first else {
            self = .scalar(spelling)
            return true
        }
        guard case .container(var container) = self else { return false }
        if let place = container.place(token) {
            guard container[keyPath: place].value.set(spelling, at: path.dropFirst()) else { return false }
        } else {
            let live = (container.children + container.added).count { !$0.isRemoved }
            guard container.isObject || token == "-" || token == "\(live)" else { return false }
            var value = DocumentModel.container(Container(isObject: true, children: []))
            guard value.set(spelling, at: path.dropFirst()) else { return false }
            let escaped = token.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\\\"")
            let label = container.isObject ? "\"\(escaped)\":" : ""
            container.added.append(Child(name: container.isObject ? token : nil, label: label, value: value))
        }
        self = .container(container)
        return true
    }

    mutating func remove(at path: ArraySlice<String>) -> Bool {
        guard let token = path.first, case .container(var container) = self, let place = container.place(token) else {
            return false
        }
        if path.count > 1 {
            guard container[keyPath: place].value.remove(at: path.dropFirst()) else { return false }
        } else if container.isObject {
            for index in container.children.indices where container.children[index].name == token {
                container.children[index].isRemoved = true
            }
            for index in container.added.indices where container.added[index].name == token {
                container.added[index].isRemoved = true
            }
        } else {
            container[keyPath: place].isRemoved = true
        }
        self = .container(container)
        return true
    }
}
