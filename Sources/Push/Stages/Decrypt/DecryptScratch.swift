/// What decrypting needs beside the key: buffers and OpenSSL contexts, used again for every message. Of one thread at a
/// time.
struct DecryptScratch: ~Copyable {
    /// The longest ciphertext that is read: hex of the longest plaintext.
    static let textLimit = 2 * plaintextLimit
    static let plaintextLimit = 64 << 10

    /// The ciphertext, and in its place the plaintext.
    var buffer = ScratchBuffer()
    var inflated = ScratchBuffer()
    var secrets = SecretCells()
    private(set) var ciphers: CipherContexts
    let digests: DigestContexts
    let inflater: Inflater
    var headers = JWEHeaders()
    private var document = JSONDocument()
    private var documentCount = 0
    private var ring = KeyRing([])
    private var ringVersion: Int?

    init() throws(DecryptFailure) {
        self.init(ciphers: try CipherContexts(), digests: try DigestContexts(), inflater: try Inflater())
    }

    private init(ciphers: CipherContexts, digests: DigestContexts, inflater: Inflater) {
        self.ciphers = ciphers
        self.digests = digests
        self.inflater = inflater
    }

    /// The set in force. When it has changed, the contexts forget the keys of the old one.
    mutating func ring(_ file: ReloadableFile<KeyRing>) throws(DecryptFailure) -> KeyRing {
        let version = file.version
        guard version != ringVersion else { return ring }
        ciphers = try CipherContexts()
        ring = file.value
        ringVersion = version
        return ring
    }

    /// Reads a plaintext as JSON; the document is good until the scratch is cleared.
    mutating func read(_ plaintext: UnsafeMutableRawBufferPointer) throws(PayloadError) -> JSONDocument {
        documentCount = plaintext.count
        try document.read(UnsafeRawBufferPointer(plaintext))
        return document
    }

    /// Clears every trace of a message.
    mutating func clear() {
        if documentCount > 0 { overwriteDocument() }
        buffer.clear()
        inflated.clear()
        secrets.clear()
    }

    /// A document reads into the memory of the one before.
    private mutating func overwriteDocument() {
        let blank = max(2, documentCount)
        buffer.reserve(blank)
        let text = buffer[0..<blank]
        text.initializeMemory(as: UInt8.self, repeating: UInt8(ascii: " "))
        text[0] = UInt8(ascii: "0")
        // A number and blanks are sound JSON.
        try? document.read(UnsafeRawBufferPointer(text))
        documentCount = 0
    }
}
