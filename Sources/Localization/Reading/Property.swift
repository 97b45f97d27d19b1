import FoundationEssentials
import Synchronization

/// A value of a property list in any of its notations, and its place in the file.
struct Property {
    enum Content {
        case dictionary([(key: SourceString, value: Property)])
        case string(ArraySlice<UInt8>)
        /// An array, a number, a date or the like, for which a catalog has no use.
        case other
    }

    /// No catalog is nested this deep; the limit protects the stacks of the readers.
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

/// Binary property lists, the form that Xcode gives catalogs inside an app. They have no lines.
extension Property: Decodable {
    static func read(binary source: SourceText) throws(CatalogProblem) -> Property {
        let decoder = PropertyListDecoder()
        if let key = Allowance.key { decoder.userInfo[key] = Allowance(Self.valuesInByte * source.bytes.count) }
        do {
            return try decoder.decode(Property.self, from: Data(source.bytes))
        } catch {
            throw CatalogProblem(file: source.file, message: "not a valid binary property list")
        }
    }

    private struct TooLarge: Error {}

    /// Each reference to a value takes at least a byte; more values come only from parts referred to repeatedly.
    private static let valuesInByte = 4

    /// How many more values may be decoded.
    private final class Allowance: Sendable {
        static let key = CodingUserInfoKey(rawValue: "allowance")

        private let left: Atomic<Int>

        init(_ count: Int) { left = Atomic(count) }

        func take() -> Bool { left.subtract(1, ordering: .relaxed).newValue >= 0 }
    }

    /// A binary list can refer to itself, and to one part many times, so depth and number of values are limited here.
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
