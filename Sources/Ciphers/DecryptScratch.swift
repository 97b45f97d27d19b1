import Glibc
package import PushmillPayload
import Synchronization

/// What decryption needs besides the key: buffers and OpenSSL contexts, reused for every message. One thread at a time.
@usableFromInline
package struct DecryptScratch: ~Copyable {
    /// The longest ciphertext that is read, in bytes: hex of the longest plaintext.
    static let textLimit = 2 * plaintextLimit
    static let plaintextLimit = 64 << 10

    /// The ciphertext, decrypted in place.
    var buffer = ScratchBuffer()
    var inflated = ScratchBuffer()
    var secrets = SecretCells()
    var ciphers: CipherContexts
    let digests: DigestContexts
    let inflater: Inflater
    var headers = JWEHeaders()
    private(set) var document = JSONDocument()
    private var documentCount = 0
    private var ring = KeyRing([])
    private var ringVersion: Int?

    init() throws(DecryptFailure) {
        guard let inflater = Inflater() else { throw .unsupported }
        self.init(ciphers: try CipherContexts(), digests: try DigestContexts(), inflater: inflater)
    }

    private init(ciphers: consuming CipherContexts, digests: DigestContexts, inflater: Inflater) {
        self.ciphers = ciphers
        self.digests = digests
        self.inflater = inflater
    }

    /// The key ring of this version. If the version has changed, the contexts drop the keys of the old ring.
    package mutating func ring(
        _ version: Int, _ current: @autoclosure () -> KeyRing
    ) throws(DecryptFailure) -> KeyRing {
        guard version != ringVersion else { return ring }
        ciphers = try CipherContexts()
        ring = current()
        ringVersion = version
        return ring
    }

    /// Reads a plaintext as JSON; the document is valid until the scratch is cleared.
    package mutating func read(_ plaintext: UnsafeMutableRawBufferPointer) throws(PayloadError) -> JSONDocument {
        documentCount = plaintext.count
        try document.read(UnsafeRawBufferPointer(plaintext))
        return document
    }

    /// Clears every trace of a message.
    @usableFromInline
    mutating func clear() {
        if documentCount > 0 {
            document.wipe(upTo: documentCount)
            documentCount = 0
            // Its index takes many times as much memory as the text, and the next large one may never come.
            if document.isLarge { document = JSONDocument() }
        }
        buffer.clear()
        inflated.clear()
        secrets.clear()
    }
}

/// Lends a scratch to the thread that decrypts, without a lock. A new one is made if none is free; up to 32 are kept.
///
/// Unchecked because pointers are not sendable: a thread that has taken a scratch is its only user until it gives it
/// back, always cleared, even if the ciphertext is refused.
@usableFromInline
package final class ScratchPool: @unchecked Sendable {
    private static let count = 32
    /// Slots are a cache line apart and each thread starts at its own, so threads do not contend for a line.
    private static let distance = 8
    private let kept = InlineArray<256, Atomic<UnsafeMutablePointer<DecryptScratch>?>> { _ in Atomic(nil) }

    package init() {}

    deinit {
        for index in kept.indices {
            if let scratch = kept[index].exchange(nil, ordering: .acquiring) { Self.free(scratch) }
        }
    }

    @inlinable
    package func with<R>(_ body: (inout DecryptScratch) throws(DecryptFailure) -> R) throws(DecryptFailure) -> R {
        let scratch = try take()
        defer {
            scratch.pointee.clear()
            give(back: scratch)
        }
        return try body(&scratch.pointee)
    }

    @usableFromInline
    func take() throws(DecryptFailure) -> UnsafeMutablePointer<DecryptScratch> {
        let first = Self.first
        for step in 0..<Self.count {
            let index = Self.index(first, step)
            if let scratch = kept[index].exchange(nil, ordering: .acquiring) { return scratch }
        }
        let new = try DecryptScratch()
        let scratch = UnsafeMutablePointer<DecryptScratch>.allocate(capacity: 1)
        scratch.initialize(to: new)
        return scratch
    }

    @usableFromInline
    func give(back scratch: UnsafeMutablePointer<DecryptScratch>) {
        let first = Self.first
        for step in 0..<Self.count {
            let index = Self.index(first, step)
            let (isKept, _) = kept[index].compareExchange(expected: nil, desired: scratch, ordering: .releasing)
            if isKept { return }
        }
        Self.free(scratch)
    }

    /// `pthread_self()` is an address in the thread's stack.
    private static var first: Int { Int(truncatingIfNeeded: pthread_self() >> 12) }

    private static func index(_ first: Int, _ step: Int) -> Int { (first &+ step) & (count - 1) * distance }

    private static func free(_ scratch: UnsafeMutablePointer<DecryptScratch>) {
        scratch.deinitialize(count: 1)
        scratch.deallocate()
    }
}

/// The cipher contexts of one thread. Some are kept for the keys in use, so each key is expanded only once.
struct CipherContexts: ~Copyable {
    private static let keptCount = 16

    /// The contexts for kept keys, then one for each of the eight ciphers, for keys that serve one message only.
    private var contexts: InlineArray<24, CipherContext>

    init() throws(DecryptFailure) {
        contexts = try InlineArray { _ throws(DecryptFailure) in try CipherContext() }
    }

    subscript(cipher: Cipher, key: CipherKey) -> CipherContext {
        _read { yield contexts[Self.position(cipher, key)] }
        _modify { yield &contexts[Self.position(cipher, key)] }
    }

    private static func position(_ cipher: Cipher, _ key: CipherKey) -> Int {
        let isKept = key.serial != 0
        return isKept ? Int(key.serial % UInt64(keptCount)) : keptCount + cipher.rawValue
    }
}

struct DigestContexts {
    let hmac256: KeyedDigest
    let hmac512: KeyedDigest

    init() throws(DecryptFailure) {
        hmac256 = try KeyedDigest(.sha256)
        hmac512 = try KeyedDigest(.sha512)
    }

    /// The HMAC of a JWE whose cipher has no tag of its own.
    func code(beside cipher: Cipher) -> KeyedDigest { cipher == .aes128CBC ? hmac256 : hmac512 }
}
