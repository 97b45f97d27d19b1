import CPushmillOpenSSL
import Glibc

/// A key in the form that a cipher takes. The bytes must outlive the call.
struct CipherKey {
    let bytes: UnsafeRawBufferPointer
    /// `DecryptionKey.serial`; 0 for a key that serves one message only.
    let serial: UInt64

    init(_ bytes: UnsafeRawBufferPointer, serial: UInt64 = 0) {
        self.bytes = bytes
        self.serial = serial
    }
}

/// One OpenSSL context for decryption. It keeps the expanded key of its last use for the next message under that key.
struct CipherContext: ~Copyable {
    private let context: OpaquePointer
    private let message = MessageParameters()
    private var cipher: Cipher?
    private var serial: UInt64 = 0

    init() throws(DecryptFailure) {
        guard let context = EVP_CIPHER_CTX_new() else { throw .unsupported }
        self.context = context
    }

    deinit { EVP_CIPHER_CTX_free(context) }

    /// Decrypts in place and checks the tag in constant time. After an error the text must not be used.
    mutating func open(
        _ cipher: Cipher, _ key: CipherKey, nonce: UnsafeRawPointer,
        additional: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
        _ text: UnsafeMutableRawBufferPointer, tag: UnsafeMutableRawPointer
    ) throws(DecryptFailure) {
        if cipher.isGCM {
            if !isStarted(cipher, key) { try start(cipher, key, nil) }
            try check(EVP_CIPHER_CTX_set_params(context, message.parameters(nonce, tag)), or: .authentication)
        } else {
            try start(cipher, key, nonce)
            try check(
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Cipher.tagCount), tag), or: .authentication)
        }
        try update(additional, into: nil)
        try update(UnsafeRawBufferPointer(text), into: text.baseAddress)
        var end: UInt8 = 0
        var count: Int32 = 0
        try check(EVP_DecryptFinal_ex(context, &end, &count), or: .authentication)
    }

    /// Decrypts blocks in place and removes the padding; returns the length left. Wrong padding leaves all, and takes
    /// as long: if nothing authenticates the text, an attacker must not learn whether it was right.
    mutating func openBlocks(
        _ cipher: Cipher, _ key: CipherKey, iv: UnsafeRawPointer, _ text: UnsafeMutableRawBufferPointer
    ) throws(DecryptFailure) -> (count: Int, isPadded: Bool) {
        guard let output = text.baseAddress, text.count >= Cipher.blockCount, text.count % Cipher.blockCount == 0
        else { throw .authentication }
        try start(cipher, key, iv)
        let end = output + (try update(UnsafeRawBufferPointer(text), into: output))
        var rest: Int32 = 0
        try check(EVP_DecryptFinal_ex(context, end.assumingMemoryBound(to: UInt8.self), &rest), or: .authentication)
        return Self.unpad(text)
    }

    /// Removes PKCS #7 padding without a branch that depends on the text.
    private static func unpad(_ text: UnsafeMutableRawBufferPointer) -> (count: Int, isPadded: Bool) {
        let length = Int(text[text.count - 1])
        // This shift turns a negative number into all ones and any other into zero.
        let sign = Int.bitWidth - 1
        var wrong = (length - 1) >> sign | (Cipher.blockCount - length) >> sign
        for index in 0..<Cipher.blockCount {
            wrong |= (index - length) >> sign & (Int(text[text.count - 1 - index]) ^ length)
        }
        let isRight = ~((wrong | -wrong) >> sign)
        return (text.count - length & isRight, isRight != 0)
    }

    /// Unwraps a key in place (RFC 3394, 2.2.2), block by block: OpenSSL's own unwrapping does AES without the
    /// processor's help and takes ten times as long. `block` must have room for one block.
    mutating func unwrap(
        _ cipher: Cipher, _ key: CipherKey, _ wrapped: UnsafeMutableRawBufferPointer, block: UnsafeMutableRawPointer
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        let half = Cipher.blockCount / 2
        guard wrapped.count % half == 0, wrapped.count >= 3 * half else { throw .malformed }
        try start(cipher, key, nil)
        var integrity = wrapped.loadUnaligned(as: UInt64.self)
        let count = wrapped.count / half - 1
        for step in stride(from: 6 * count, to: 0, by: -1) {
            let offset = ((step - 1) % count + 1) * half
            block.storeBytes(of: integrity ^ UInt64(step).bigEndian, as: UInt64.self)
            block.storeBytes(
                of: wrapped.loadUnaligned(fromByteOffset: offset, as: UInt64.self), toByteOffset: half, as: UInt64.self)
            try update(UnsafeRawBufferPointer(start: block, count: Cipher.blockCount), into: block)
            integrity = block.load(as: UInt64.self)
            wrapped.storeBytes(
                of: block.load(fromByteOffset: half, as: UInt64.self), toByteOffset: offset, as: UInt64.self)
        }
        guard integrity == 0xA6A6_A6A6_A6A6_A6A6 else { throw .authentication }
        return UnsafeMutableRawBufferPointer(rebasing: wrapped[half...])
    }

    /// True if the context still has this key expanded from another message.
    private func isStarted(_ cipher: Cipher, _ key: CipherKey) -> Bool {
        key.serial != 0 && key.serial == serial && cipher == self.cipher
    }

    /// Without a nonce, the mode's own initial value applies.
    private mutating func start(
        _ cipher: Cipher, _ key: CipherKey, _ nonce: UnsafeRawPointer?
    ) throws(DecryptFailure) {
        let nonce = nonce?.assumingMemoryBound(to: UInt8.self)
        if isStarted(cipher, key) {
            return try check(EVP_CipherInit_ex2(context, nil, nil, nonce, 0, nil), or: .authentication)
        }
        guard let algorithm = cipher.algorithm else { throw .unsupported }
        guard key.bytes.count == cipher.keyCount else { throw .noKey }
        serial = 0
        let bytes = key.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        // Passing the same algorithm again would make OpenSSL set it up from scratch.
        let change = cipher == self.cipher ? nil : algorithm
        try check(EVP_CipherInit_ex2(context, change, bytes, nonce, 0, nil), or: .authentication)
        // Holds until the algorithm changes. `openBlocks` removes the padding itself, in constant time.
        if change != nil, cipher.isCBC || cipher.isWrap { EVP_CIPHER_CTX_set_padding(context, 0) }
        self.cipher = cipher
        serial = key.serial
    }

    /// Without an output, the input is additional data, which is only authenticated.
    @discardableResult
    private func update(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawPointer?
    ) throws(DecryptFailure) -> Int {
        guard !input.isEmpty else { return 0 }
        var count: Int32 = 0
        try check(
            EVP_DecryptUpdate(
                context, output?.assumingMemoryBound(to: UInt8.self), &count,
                input.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(input.count)), or: .authentication)
        return Int(count)
    }
}

/// Sets nonce and tag for AES-GCM in one call: the nonce in two parts, by parameters that OpenSSL names after TLS. An
/// init with the nonce takes twice as long, because OpenSSL then asks the cipher for the length of a nonce.
private struct MessageParameters: ~Copyable {
    private static let fixedCount = 4
    private static let count = 4

    private let start = UnsafeMutablePointer<OSSL_PARAM>.allocate(capacity: count)

    init() {
        let end = Cipher.nonceCount - Self.fixedCount
        start.initialize(to: OSSL_PARAM_construct_octet_string(Self.tagName, nil, Cipher.tagCount))
        (start + 1).initialize(to: OSSL_PARAM_construct_octet_string(Self.fixedName, nil, Self.fixedCount))
        (start + 2).initialize(to: OSSL_PARAM_construct_octet_string(Self.endName, nil, end))
        (start + 3).initialize(to: OSSL_PARAM_construct_end())
    }

    deinit { start.deallocate() }

    /// Valid until the next call.
    func parameters(_ nonce: UnsafeRawPointer, _ tag: UnsafeMutableRawPointer) -> UnsafePointer<OSSL_PARAM> {
        let nonce = UnsafeMutableRawPointer(mutating: nonce)
        start[0].data = tag
        start[1].data = nonce
        start[2].data = nonce + Self.fixedCount
        return UnsafePointer(start)
    }

    // OpenSSL keeps the addresses of the names, so they live as long as the process.
    nonisolated(unsafe) private static let tagName = strdup(OSSL_CIPHER_PARAM_AEAD_TAG)
    nonisolated(unsafe) private static let fixedName = strdup(OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED)
    nonisolated(unsafe) private static let endName = strdup(OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV)
}

enum Cipher: Int, CaseIterable {
    case aes128GCM, aes256GCM, chacha20Poly1305
    case aes128CBC, aes256CBC
    case aes128Wrap, aes192Wrap, aes256Wrap

    static let nonceCount = 12
    static let tagCount = 16
    static let blockCount = 16

    /// For a key wrap, the cipher of its blocks (ECB). Nil if this build or configuration of OpenSSL lacks the cipher.
    var algorithm: OpaquePointer? { Self.algorithms[rawValue] }

    var isGCM: Bool { self == .aes128GCM || self == .aes256GCM }
    var isCBC: Bool { self == .aes128CBC || self == .aes256CBC }
    var isWrap: Bool { rawValue >= Cipher.aes128Wrap.rawValue }

    var keyCount: Int {
        switch self {
        case .aes128GCM, .aes128CBC, .aes128Wrap: 16
        case .aes192Wrap: 24
        case .aes256GCM, .chacha20Poly1305, .aes256CBC, .aes256Wrap: 32
        }
    }

    /// In the order of the cases.
    private static let names = [
        "AES-128-GCM", "AES-256-GCM", "ChaCha20-Poly1305", "AES-128-CBC", "AES-256-CBC", "AES-128-ECB", "AES-192-ECB",
        "AES-256-ECB",
    ]

    // Fetched once because a fetch takes locks; immutable and kept for the life of the process.
    nonisolated(unsafe) private static let algorithms = names.map { EVP_CIPHER_fetch(nil, $0, nil) }
}
