/// Why a key set cannot be used. Says which key and why, never what it is.
package enum KeySetError: Error, CustomStringConvertible {
    case notAKeySet(String)
    /// `key` says which one: its position, and its name if it has one.
    case key(String, String)
    case sample(String)

    package var description: String {
        switch self {
        case .notAKeySet(let why): "not a JWK Set: \(why)"
        case .key(let key, let why): "\(key): \(why)"
        case .sample(let key):
            "\(key) is an example's, known to everybody: make one of your own with 'pushmill keys generate'"
        }
    }
}
