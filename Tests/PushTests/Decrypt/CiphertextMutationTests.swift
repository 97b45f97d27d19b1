import PushmillTestSupport
import Testing

@testable import PushmillCiphers
@testable import PushmillStages

@Suite("Mutated ciphertexts")
struct CiphertextMutationTests {
    @Test(
        "Mutated ciphertexts never trap, and authenticated ones open only to the original text",
        arguments: DecryptKeys.uses.map(\.key), [SealingForm.webPush, .webPushDraft])
    func mutated(name: String, push: SealingForm) throws {
        let form = name == "push" ? push : try #require(DecryptKeys.form(of: name))
        let sealed = try Sealer().seal(Array("hello, hello".utf8), as: form, DecryptKeys.ring, keyName: name)
        let draft = try sealed.draft.flatMap {
            WebPushForm.Draft(
                point: try BinaryText.bytes(ofBare: $0.point), salt: try BinaryText.bytes(ofBare: $0.salt))
        }
        let options = DecryptOptions()
        let decryptor = Decryptor(options.formats + [.openSSL], options.derivation)
        var scratch = try DecryptScratch()
        var random = SeededGenerator(seed: UInt64(name.utf8.reduce(0) { $0 &* 31 &+ Int($1) }))
        var opened = 0
        for _ in 0..<Mutations.count / 20 {
            var text = Array(sealed.text.utf8)
            if !random.chance(2) { random.mutate(&text) }
            let result = try? text.withUnsafeBytes { text in
                try decryptor.open(text, &scratch, DecryptKeys.ring) { (need, ring) throws(DecryptFailure) in
                    guard let key = ring.keys.first(where: { $0.name == name && need.fits($0) }) else { throw .noKey }
                    return key
                } draft: {
                    draft
                }
            }
            guard case .text(let plaintext, _)? = result else { continue }
            opened += 1
            // The output of `openssl enc` is not authenticated.
            if form != .openSSL { #expect(plaintext.elementsEqual("hello, hello".utf8), "\(text)") }
        }
        #expect(opened > 0)
    }
}
