@testable import PushmillCiphers

/// An authenticated ciphertext opens only to the sealed text; any other opens to text, and to the same text every time.
final class CiphertextTarget: FuzzTarget {
    static let names = ["ciphertext"]
    /// The plaintext of every seed.
    static let sealed = Array("hello, hello".utf8)

    private let authenticated = Decryptor([.jwe, .aesGCM, .chaCha20, .webPush], .sha256)
    private let older = Decryptor([.webPush], .sha256)
    private let any = Decryptor([.jwe, .openSSL, .aesGCM, .chaCha20, .webPush], .md5)
    private let iterated = Decryptor([.openSSL], .iterated(10))
    private var scratch: DecryptScratch

    init(_ name: String) throws { scratch = try DecryptScratch() }

    func run(_ bytes: [UInt8]) throws {
        for (decryptor, draft) in [(authenticated, nil), (older, SampleKeys.draft)] {
            guard let text = try open(bytes, decryptor, draft) else { continue }
            try promise(text == Self.sealed, "opens to a text that nobody sealed")
        }
        if let text = try open(bytes, any) {
            try promise(String(validating: text, as: UTF8.self) != nil, "opens to what is no text")
            try promise(try open(bytes, any) == text, "opens to another text the second time")
        }
        _ = try open(bytes, iterated)
        scratch.clear()
    }

    /// True if the bytes open to the sealed text.
    func opens(_ bytes: [UInt8]) throws -> Bool {
        try open(bytes, any) == Self.sealed || open(bytes, older, SampleKeys.draft) == Self.sealed
    }

    /// Tries each key that fits the ciphertext.
    private func open(
        _ bytes: [UInt8], _ decryptor: Decryptor, _ draft: WebPushForm.Draft? = nil
    ) throws -> [UInt8]? {
        for key in 0..<Self.mostThatFit {
            if let text = try open(bytes, decryptor, draft, key: key) { return text }
        }
        return nil
    }

    /// Raw ciphertexts do not name their cipher, so three of the sample keys fit them.
    private static let mostThatFit = 3

    private func open(
        _ bytes: [UInt8], _ decryptor: Decryptor, _ draft: WebPushForm.Draft?, key number: Int
    ) throws -> [UInt8]? {
        try bytes.withUnsafeBytes { text in
            let opened: Decryptor.Opened
            do throws(DecryptFailure) {
                opened = try decryptor.open(text, &scratch, SampleKeys.ring) {
                    (need, ring) throws(DecryptFailure) in
                    guard let key = ring.keys.filter({ need.fits($0) }).dropFirst(number).first else { throw .noKey }
                    return key
                } draft: {
                    draft
                }
            } catch {
                try promise(!"\(error)".isEmpty, "refused without a reason")
                return nil
            }
            guard case .text(let plaintext, _) = opened else { return nil }
            return Array(plaintext)
        }
    }
}
