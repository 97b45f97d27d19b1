/// Why a ciphertext was not shown. Padding and tag failures are one on purpose, and so is everything that is wrong with a
/// text that nothing authenticates: telling them apart would help an attacker who tries ciphertexts.
package enum DecryptFailure: Error, CaseIterable {
    /// No key of that name, or none for this form.
    case noKey
    /// Wrong key, or tampered with.
    case authentication
    case malformed
    /// Well formed, but not allowed here or not known.
    case unsupported
    case tooLarge
    case notText
    case notObject
    case protectedMember

    /// True where another key might do better.
    var mayBeOfTheKey: Bool { self == .noKey || self == .authentication || self == .notText }

    package var reason: StaticString {
        switch self {
        case .noKey: "no-key"
        case .authentication: "authentication"
        case .malformed: "malformed"
        case .unsupported: "unsupported"
        case .tooLarge: "too-large"
        case .notText: "not-text"
        case .notObject: "not-object"
        case .protectedMember: "protected-member"
        }
    }
}
