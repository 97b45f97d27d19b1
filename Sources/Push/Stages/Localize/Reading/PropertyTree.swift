/// A property list in any of its notations, each value with its place in the file. Flat, because the catalog of a large
/// product has a great many nodes and lives only while it is read.
struct PropertyTree {
    enum Kind: UInt8 {
        case dictionary, array, string
        /// A number, a date or the like: nothing that a catalog has a use for.
        case other
    }

    fileprivate struct Node {
        let kind: Kind
        let offset: UInt32
        /// In `text`.
        let start: UInt32
        var end: UInt32
        /// The index after the last descendant.
        var next: UInt32
    }

    /// Property lists this deep are no catalogs; the readers need not fear for their stacks.
    static let maximumDepth = 16

    fileprivate var nodes: [Node] = []
    fileprivate var text: [UInt8] = []

    var root: PropertyNode { PropertyNode(tree: self, index: 0) }

    // MARK: - Building, in the order of the file. The children of a dictionary are key, value, key, value.

    /// Begins a value, for `end` to finish. What is appended meanwhile is its text, or its children.
    mutating func begin(_ kind: Kind, at offset: Int) -> Int {
        let start = UInt32(text.count)
        nodes.append(Node(kind: kind, offset: UInt32(offset), start: start, end: start, next: 0))
        return nodes.count - 1
    }

    mutating func end(_ index: Int) {
        nodes[index].end = UInt32(text.count)
        nodes[index].next = UInt32(nodes.count)
    }

    /// Adds a string once more.
    mutating func `repeat`(_ index: Int) {
        nodes.append(nodes[index])
        nodes[nodes.count - 1].next = UInt32(nodes.count)
    }

    mutating func append(_ byte: UInt8) { text.append(byte) }

    mutating func append(_ scalar: Unicode.Scalar) { text.append(contentsOf: String(scalar).utf8) }

    mutating func append(_ string: String, at offset: Int) {
        let index = begin(.string, at: offset)
        text.append(contentsOf: string.utf8)
        end(index)
    }
}

/// One value of a property list.
struct PropertyNode {
    fileprivate let tree: PropertyTree
    fileprivate let index: Int

    var kind: PropertyTree.Kind { tree.nodes[index].kind }
    var offset: Int { Int(tree.nodes[index].offset) }

    /// Nil for all but strings.
    var string: SourceString? {
        let node = tree.nodes[index]
        guard node.kind == .string else { return nil }
        return SourceString(bytes: tree.text[Int(node.start)..<Int(node.end)], offset: Int(node.offset))
    }

    /// Of a dictionary; empty for all else.
    var members: some Sequence<(key: SourceString, value: PropertyNode)> {
        let isDictionary = kind == .dictionary
        return sequence(state: isDictionary ? index + 1 : Int.max) { [tree, end = Int(tree.nodes[index].next)] at in
            guard at < end, let key = PropertyNode(tree: tree, index: at).string else { return nil }
            let value = PropertyNode(tree: tree, index: at + 1)
            at = Int(tree.nodes[at + 1].next)
            return (key, value)
        }
    }

    func member(_ name: StaticString) -> PropertyNode? { members.first { $0.key == name }?.value }
}
