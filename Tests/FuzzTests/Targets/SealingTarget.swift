@testable import PushmillCiphers

/// Any text opens again after it was sealed in any form; bytes that are not text do not open.
final class SealingTarget: FuzzTarget {
    static let names = ["sealing"]

    private let sealer: Sealer
    private let decryptor = Decryptor([.jwe, .openSSL, .aesGCM, .chaCha20, .webPush], .sha256)
    private var scratch: DecryptScratch

    init(_ name: String) throws {
        sealer = try Sealer()
        scratch = try DecryptScratch()
    }

    func run(_ bytes: [UInt8]) throws {
        let forms = SealingForm.allCases.filter { $0 != .rot13 }
        let form = forms[bytes.count % forms.count]
        let keys = SampleKeys.ring.keys.filter { form.keyUses.contains($0.use) }
        try promise(!keys.isEmpty, "no key for \(form)")
        for key in keys {
            let sealed = try sealer.seal(bytes, as: form, SampleKeys.ring, keyName: key.name)
            let draft = try sealed.draft.flatMap {
                WebPushForm.Draft(
                    point: try BinaryText.bytes(ofBare: $0.point), salt: try BinaryText.bytes(ofBare: $0.salt))
            }
            let isText = String(validating: bytes, as: UTF8.self) != nil
            let opened = try? open(Array(sealed.text.utf8), key, draft)
            try promise(opened == (isText ? bytes : nil), "sealed as \(form) for \(key.use), opened as another text")
        }
        scratch.clear()
    }

    private func open(_ text: [UInt8], _ key: DecryptionKey, _ draft: WebPushForm.Draft?) throws -> [UInt8] {
        let opened = try text.withUnsafeBytes { text in
            try decryptor.open(text, &scratch, SampleKeys.ring) { (need, _) throws(DecryptFailure) in
                guard need.fits(key) else { throw .noKey }
                return key
            } draft: {
                draft
            }
        }
        guard case .text(let plaintext, _) = opened else { throw DecryptFailure.noKey }
        return Array(plaintext)
    }
}
