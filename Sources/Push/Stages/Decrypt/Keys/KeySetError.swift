/// Why a key set cannot be used. Says which key and why, never what it is.
package enum KeySetError: Error, CustomStringConvertible {
    case notAKeySet(String)
    /// `key` says which one: its position, and its name if it has one.
    case key(String, String)

    package var description: String {
        switch self {
        case .notAKeySet(let why): "not a JWK Set: \(why)"
        case .key(let key, let why): "\(key): \(why)"
        }
    }
}
