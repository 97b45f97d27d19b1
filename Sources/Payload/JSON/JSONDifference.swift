/// A difference between two documents at one location. Values are compared and reported as they are spelled.
package struct JSONDifference: Sendable, Equatable {
    package let pointer: String
    /// Nil if the old document has nothing there, as `after` is if the new one has nothing.
    package let before: String?
    package let after: String?

    /// In the order of the new document; then removed values in the order of the old one.
    package static func between(_ old: JSONDocument, _ new: JSONDocument) -> [JSONDifference] {
        let before = old.leaves
        let after = new.leaves
        let known = Dictionary(before, uniquingKeysWith: { _, last in last })
        let kept = Dictionary(after, uniquingKeysWith: { _, last in last })
        let changes = after.compactMap { pointer, value -> JSONDifference? in
            let earlier = known[pointer]
            return earlier == value ? nil : JSONDifference(pointer, before: earlier, after: value)
        }
        let losses = before.compactMap { pointer, value -> JSONDifference? in
            kept[pointer] == nil ? JSONDifference(pointer, before: value, after: nil) : nil
        }
        return changes + losses
    }

    private init(_ pointer: [UInt8], before: [UInt8]?, after: [UInt8]?) {
        self.pointer = String(decoding: pointer, as: UTF8.self)
        self.before = before.map { String(decoding: $0, as: UTF8.self) }
        self.after = after.map { String(decoding: $0, as: UTF8.self) }
    }
}

extension JSONDifference: CustomStringConvertible {
    package var description: String {
        let sign = before == nil ? "+" : after == nil ? "-" : "~"
        let values = [before, after].compactMap { $0 }.map(Self.short)
        return "\(sign) \(pointer): \(values.joined(separator: " -> "))"
    }

    /// Of a ciphertext, only the beginning is of interest.
    private static func short(_ value: String) -> String {
        value.count > 80 ? "\(value.prefix(79))…" : value
    }
}

extension JSONDocument {
    /// Every value without children, by its pointer. As bytes: two spellings of one character are equal strings.
    fileprivate var leaves: [([UInt8], [UInt8])] {
        var leaves: [([UInt8], [UInt8])] = []
        appendLeaves(of: root, "", to: &leaves)
        return leaves
    }

    /// Recursion is bounded by the depth of the document.
    private func appendLeaves(of node: JSONNode, _ pointer: String, to leaves: inout [([UInt8], [UInt8])]) {
        let kind = kind(of: node)
        guard kind == .object || kind == .array, childCount(of: node) > 0 else {
            var text: [UInt8] = []
            render(node, into: &text)
            leaves.append((Array(pointer.utf8), text))
            return
        }
        let children = children(of: node)
        guard kind == .object else {
            for (position, child) in children.enumerated() {
                appendLeaves(of: child, "\(pointer)/\(position)", to: &leaves)
            }
            return
        }
        // If a name occurs more than once, only the last counts, with everything below it.
        let names = children.map(nameBytes)
        let last = Dictionary(zip(names, children), uniquingKeysWith: { _, last in last })
        for (name, child) in zip(names, children) where last[name] == child {
            let escaped = JSONPointer.escaped(String(decoding: name, as: UTF8.self))
            appendLeaves(of: child, "\(pointer)/\(escaped)", to: &leaves)
        }
    }

    private func nameBytes(of member: JSONNode) -> [UInt8] {
        withName(of: member) { name in name.withUnsafeBufferPointer { Array($0) } } ?? []
    }
}
