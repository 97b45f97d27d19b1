import PushmillTestSupport
import Testing

@testable import PushmillStages

@Suite("Decrypt vectors")
struct DecryptVectorTests {
    @Test("A good vector opens to its plaintext", arguments: try DecryptVectors.read().good)
    func good(vector: DecryptVector) async throws {
        let fixture = try DecryptFixture(keys: vector.keySet) { $0.derivation = vector.derivation }
        expect(fixture.stage.isImmediate, is: (vector.iterations == nil))
        let result = try await fixture.publish(vector.data, members: vector.members)
        expect(result.stages, is: "decrypt=ok")
        expect(result.body, is: vector.plaintext)
        #expect(result.ciphertext == nil)
    }

    @Test("A bad vector fails, shows the placeholder and stays encrypted", arguments: try DecryptVectors.read().bad)
    func bad(vector: DecryptVector) async throws {
        let fixture = try DecryptFixture(keys: vector.keySet) { $0.derivation = vector.derivation }
        let result = try await fixture.publish(vector.data, members: vector.members)
        expect(result.stages, is: "decrypt=failed:\(vector.reason ?? "?")")
        expect(result.body, is: "(Encrypted)")
        expect(result.ciphertext, is: vector.data)
    }
}
