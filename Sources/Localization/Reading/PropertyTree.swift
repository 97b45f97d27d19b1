import FoundationEssentials

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

/// Reads binary property lists, the form that Xcode gives catalogs inside an app. Nothing in them has a line.
enum BinaryPropertyReader {
    static func read(_ source: SourceText) throws(CatalogProblem) -> PropertyTree {
        do {
            let value = try PropertyListDecoder().decode(Value.self, from: Data(source.bytes))
            var tree = PropertyTree()
            value.add(to: &tree)
            return tree
        } catch {
            throw CatalogProblem(file: source.file, message: "not a sound binary property list")
        }
    }

    private struct TooDeep: Error {}

    private indirect enum Value: Decodable {
        case string(String)
        case dictionary([(key: String, value: Value)])
        case other

        /// Such a list can refer to itself, so this is where depth has to end.
        init(from decoder: any Decoder) throws {
            guard decoder.codingPath.count < PropertyTree.maximumDepth else { throw TooDeep() }
            if let string = try? decoder.singleValueContainer().decode(String.self) {
                self = .string(string)
            } else if let keys = try? decoder.container(keyedBy: Key.self) {
                var members: [(key: String, value: Value)] = []
                for key in keys.allKeys {
                    members.append((key.stringValue, try keys.decode(Value.self, forKey: key)))
                }
                self = .dictionary(members.sorted { $0.key < $1.key })
            } else {
                self = .other
            }
        }

        func add(to tree: inout PropertyTree) {
            switch self {
            case .string(let string):
                tree.append(string, at: 0)
            case .dictionary(let members):
                let container = tree.begin(.dictionary, at: 0)
                for (key, value) in members {
                    tree.append(key, at: 0)
                    value.add(to: &tree)
                }
                tree.end(container)
            case .other:
                tree.end(tree.begin(.other, at: 0))
            }
        }
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
