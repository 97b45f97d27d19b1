import FoundationEssentials

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
