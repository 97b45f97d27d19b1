public import PushmillLocalization

/// Where contacts come from, as configured.
public enum ContactSource: Sendable, Hashable {
    /// The embedded store.
    case state
    /// A file of JSON Lines.
    case file(String)
    /// A compacted topic.
    case topic(String)

    package var isFile: Bool {
        if case .file = self { true } else { false }
    }
}

extension ContactSource: CustomStringConvertible {
    public var description: String {
        switch self {
        case .state: "state"
        case .file(let path): path
        case .topic(let name): "topic:\(name)"
        }
    }
}

extension SettingFormat where Value == ContactSource {
    /// `state`, `topic:NAME` or a file.
    package static var contactSource: Self {
        Self(
            parse: { text, folder throws(SettingMismatch) in
                if text == "state" { return .state }
                guard text.hasPrefix("topic:") else { return .file(try SettingFormat<String>.file.parse(text, folder)) }
                let name = String(text.dropFirst("topic:".count))
                return .topic(try SettingFormat<String>.topic.parse(name, folder))
            }, render: \.description, isSecret: false)
    }
}

/// The names under which recipients know others. All shards use it at the same time.
public protocol ContactBook: AnyObject, Sendable {
    /// Begins to prefetch what `find` needs for an owner, without waiting. Called twice: many messages ahead, and again
    /// when only a few are ahead (`isNear`).
    func prepare(_ owner: RawSpan, isNear: Bool)

    /// Passes `body` the owner's name for the identifier, cleaned by `ContactName`; false if there is none. May read a
    /// local file, which takes microseconds, and caches what it found. The name is valid only within `body`, which must
    /// not call the book.
    func find(
        _ id: RawSpan, of owner: RawSpan, _ body: (_ name: Span<UInt8>, TextDirection) -> Void
    ) throws(ContactsUnavailable) -> Bool
}

extension ContactBook {
    public func prepare(_ owner: RawSpan, isNear: Bool) {}
}

/// The names are unavailable.
public struct ContactsUnavailable: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

/// The shared directory: an owner whose contacts are everyone's.
public enum ContactDirectory {
    public static let owner = "*"
}

/// Cleans a name for use in another text.
public enum ContactName {
    /// Removes control characters, and those that would change the direction of the text around the name. Line ends and
    /// tabs become spaces. Empty if nothing visible is left.
    public static func clean(_ name: RawSpan) -> [UInt8] {
        let cleaned = name.withUnsafeBytes { name in
            // Printable ASCII needs no cleaning.
            name.allSatisfy { (0x20..<0x7F).contains($0) } ? Array(name) : clean(String(decoding: name, as: UTF8.self))
        }
        return cleaned.allSatisfy { $0 == UInt8(ascii: " ") } ? [] : cleaned
    }

    private static func clean(_ name: String) -> [UInt8] {
        var cleaned: [UInt8] = []
        var isBlank = true
        for scalar in name.unicodeScalars {
            guard let scalar = shown(scalar), let encoded = UTF8.encode(scalar) else { continue }
            cleaned.append(contentsOf: encoded)
            isBlank = isBlank && Self.isBlank(scalar)
        }
        return isBlank ? [] : cleaned
    }

    /// True for spaces of any width, including those that count as letters, which people use to have no name.
    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar.properties.isDefaultIgnorableCodePoint || scalar == "\u{2800}"
    }

    private static func shown(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
        switch scalar.value {
        case 0x09...0x0D, 0x85, 0x2028, 0x2029: " "
        case 0x00...0x1F, 0x7F...0x9F: nil
        // Embeddings and overrides; isolates.
        case 0x202A...0x202E, 0x2066...0x2069: nil
        default: scalar
        }
    }
}
