import CPushmillOpenSSL

/// The ciphers of all forms.
enum Cipher: Int, CaseIterable {
    case aes128GCM, aes256GCM, chacha20Poly1305
    case aes128CBC, aes256CBC
    case aes128Wrap, aes192Wrap, aes256Wrap

    static let nonceCount = 12
    static let tagCount = 16
    static let blockCount = 16

    /// Nil where this build or configuration of OpenSSL leaves the cipher out.
    var algorithm: OpaquePointer? { Self.algorithms[rawValue] }

    var keyCount: Int {
        switch self {
        case .aes128GCM, .aes128CBC, .aes128Wrap: 16
        case .aes192Wrap: 24
        case .aes256GCM, .chacha20Poly1305, .aes256CBC, .aes256Wrap: 32
        }
    }

    private var name: String {
        switch self {
        case .aes128GCM: "AES-128-GCM"
        case .aes256GCM: "AES-256-GCM"
        case .chacha20Poly1305: "ChaCha20-Poly1305"
        case .aes128CBC: "AES-128-CBC"
        case .aes256CBC: "AES-256-CBC"
        case .aes128Wrap: "AES-128-WRAP"
        case .aes192Wrap: "AES-192-WRAP"
        case .aes256Wrap: "AES-256-WRAP"
        }
    }

    // Fetched once, because a fetch takes locks; immutable, and kept for the life of the process.
    nonisolated(unsafe) private static let algorithms = allCases.map { EVP_CIPHER_fetch(nil, $0.name, nil) }
}
