import FoundationEssentials

/// A value of a property list in any of its notations, and its place in the file.
struct Property {
    enum Content {
        case dictionary([(key: SourceString, value: Property)])
        case string(ArraySlice<UInt8>)
        /// An array, a number, a date or the like: nothing that a catalog has a use for.
        case other
    }

    /// Property lists this deep are no catalogs; the readers need not fear for their stacks.
    static let maximumDepth = 16

    let content: Content
    let offset: Int

    /// Nil for all but strings.
    var string: SourceString? {
        if case .string(let bytes) = content { SourceString(bytes: bytes, offset: offset) } else { nil }
    }

    /// Nil for all but dictionaries.
    var members: [(key: SourceString, value: Property)]? {
        if case .dictionary(let members) = content { members } else { nil }
    }

    func member(_ name: StaticString) -> Property? { members?.first { $0.key == name }?.value }
}

/// Binary property lists, the form that Xcode gives catalogs inside an app. Nothing in them has a line.
extension Property: Decodable {
    static func read(binary source: SourceText) throws(CatalogProblem) -> Property {
        do {
            return try PropertyListDecoder().decode(Property.self, from: Data(source.bytes))
        } catch {
            throw CatalogProblem(file: source.file, message: "not a sound binary property list")
        }
    }

    private struct TooDeep: Error {}

    /// Such a list can refer to itself, so this is where depth has to end.
    init(from decoder: any Decoder) throws {
        guard decoder.codingPath.count < Self.maximumDepth else { throw TooDeep() }
        offset = 0
        let value = try decoder.singleValueContainer()
        if let string = try? value.decode(String.self) {
            content = .string(Array(string.utf8)[...])
            return
        }
        do {
            let members = try value.decode([String: Property].self).sorted { $0.key < $1.key }
            content = .dictionary(members.map { (SourceString(bytes: Array($0.utf8)[...], offset: 0), $1) })
        } catch DecodingError.typeMismatch {
            content = .other
        }
    }
}
