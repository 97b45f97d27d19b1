/// What is at one place in a document and not the same in another. Values are compared, and told, as they are spelled.
package struct JSONDifference: Sendable, Equatable {
    package let pointer: String
    /// Nil, as `after`, where that document has nothing there.
    package let before: String?
    package let after: String?

    /// In the order of the new document; then what is gone, in that of the old one.
    package static func between(_ old: JSONDocument, _ new: JSONDocument) -> [JSONDifference] {
        let before = old.leaves
        let after = new.leaves
        let known = Dictionary(before, uniquingKeysWith: { _, last in last })
        let kept = Dictionary(after, uniquingKeysWith: { _, last in last })
        let changes = after.compactMap { pointer, value -> JSONDifference? in
            let earlier = known[pointer]
            return earlier == value ? nil : JSONDifference(pointer: pointer, before: earlier, after: value)
        }
        let losses = before.compactMap { pointer, value -> JSONDifference? in
            kept[pointer] == nil ? JSONDifference(pointer: pointer, before: value, after: nil) : nil
        }
        return changes + losses
    }
}

extension JSONDifference: CustomStringConvertible {
    package var description: String {
        let sign = before == nil ? "+" : after == nil ? "-" : "~"
        let values = [before, after].compactMap { $0 }.map(Self.short)
        return "\(sign) \(pointer): \(values.joined(separator: " -> "))"
    }

    /// A ciphertext is of no interest beyond its beginning.
    private static func short(_ value: String) -> String {
        value.count > 80 ? "\(value.prefix(79))…" : value
    }
}

extension JSONDocument {
    /// Every value that has no others in it, by its place.
    fileprivate var leaves: [(String, String)] {
        var leaves: [(String, String)] = []
        appendLeaves(of: root, "", to: &leaves)
        return leaves
    }

    /// As deep as the document, and so bounded.
    private func appendLeaves(of node: JSONNode, _ pointer: String, to leaves: inout [(String, String)]) {
        let kind = kind(of: node)
        guard kind == .object || kind == .array, childCount(of: node) > 0 else {
            var text: [UInt8] = []
            render(node, into: &text)
            leaves.append((pointer, String(decoding: text, as: UTF8.self)))
            return
        }
        var position = 0
        forEachChild(of: node) { child in
            let name = kind == .array ? "\(position)" : escapedName(of: child)
            position += 1
            appendLeaves(of: child, "\(pointer)/\(name)", to: &leaves)
        }
    }

    private func escapedName(of member: JSONNode) -> String {
        let name = withName(of: member) { name in name.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) } }
        return JSONPointer.escaped(name ?? "")
    }
}
