import Glibc
package import PushmillPayload
import Synchronization

/// What decrypting needs beside the key: buffers and OpenSSL contexts, used again for every message. Of one thread at a
/// time.
@usableFromInline
package struct DecryptScratch: ~Copyable {
    /// The longest ciphertext that is read: hex of the longest plaintext.
    static let textLimit = 2 * plaintextLimit
    static let plaintextLimit = 64 << 10

    /// The ciphertext, and in its place the plaintext.
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

    /// The set in force, of which this is the version. When that has changed, the contexts forget the keys of the old one.
    package mutating func ring(
        _ version: Int, _ current: @autoclosure () -> KeyRing
    ) throws(DecryptFailure) -> KeyRing {
        guard version != ringVersion else { return ring }
        ciphers = try CipherContexts()
        ring = current()
        ringVersion = version
        return ring
    }

    /// Reads a plaintext as JSON; the document is good until the scratch is cleared.
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
            // The index of a large one takes many times as much, and the next may never come.
            if document.isLarge { document = JSONDocument() }
        }
        buffer.clear()
        inflated.clear()
        secrets.clear()
    }
}

/// Lends a scratch to the thread that decrypts, without a lock: as many as decrypt at once come to be, and some are kept.
///
/// Unchecked because pointers are not sendable: the thread that has taken one out has what it points to for itself until
/// it gives it back, cleared. It does that whatever the ciphertext is, and also when it is refused.
@usableFromInline
package final class ScratchPool: @unchecked Sendable {
    private static let count = 32
    /// Apart from each other by a cache line, and each thread begins at one of its own: then none waits for another's.
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
        for turn in 0..<Self.count {
            let index = Self.index(first, turn)
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
        for turn in 0..<Self.count {
            let index = Self.index(first, turn)
            let (isKept, _) = kept[index].compareExchange(expected: nil, desired: scratch, ordering: .releasing)
            if isKept { return }
        }
        Self.free(scratch)
    }

    /// Threads' numbers are addresses in their stacks.
    private static var first: Int { Int(truncatingIfNeeded: pthread_self() >> 12) }

    private static func index(_ first: Int, _ turn: Int) -> Int { (first &+ turn) & (count - 1) * distance }

    private static func free(_ scratch: UnsafeMutablePointer<DecryptScratch>) {
        scratch.deinitialize(count: 1)
        scratch.deallocate()
    }
}

/// The cipher contexts of one thread. Some are kept for the keys in use, so that their expansion is done once.
struct CipherContexts: ~Copyable {
    private static let keptCount = 16

    /// Those for kept keys, and behind them one of each of the eight ciphers for keys that serve one message only.
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
    let md5: DigestContext
    let sha256: DigestContext
    let hmac256: KeyedDigest
    let hmac512: KeyedDigest

    init() throws(DecryptFailure) {
        md5 = try DigestContext(.md5)
        sha256 = try DigestContext(.sha256)
        hmac256 = try KeyedDigest(.sha256)
        hmac512 = try KeyedDigest(.sha512)
    }

    /// Of a JWE whose cipher has no tag of its own.
    func code(beside cipher: Cipher) -> KeyedDigest { cipher == .aes128CBC ? hmac256 : hmac512 }
}
