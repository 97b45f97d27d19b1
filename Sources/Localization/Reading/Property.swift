import FoundationEssentials
import Synchronization

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
        let decoder = PropertyListDecoder()
        if let key = Allowance.key { decoder.userInfo[key] = Allowance(Self.valuesInByte * source.bytes.count) }
        do {
            return try decoder.decode(Property.self, from: Data(source.bytes))
        } catch {
            throw CatalogProblem(file: source.file, message: "not a sound binary property list")
        }
    }

    private struct TooLarge: Error {}

    /// A value takes a byte where it is referred to; more come only of parts that are referred to again and again.
    private static let valuesInByte = 4

    /// How many values more there may be.
    private final class Allowance: Sendable {
        static let key = CodingUserInfoKey(rawValue: "allowance")

        private let left: Atomic<Int>

        init(_ count: Int) { left = Atomic(count) }

        func take() -> Bool { left.subtract(1, ordering: .relaxed).newValue >= 0 }
    }

    /// Such a list can refer to itself, and to one part many times, so this is where depth and number have to end.
    init(from decoder: any Decoder) throws {
        let allowance = Allowance.key.flatMap { decoder.userInfo[$0] as? Allowance }
        guard decoder.codingPath.count < Self.maximumDepth, allowance?.take() != false else { throw TooLarge() }
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
