import PushmillTestSupport
import Testing

@testable import PushmillCiphers
@testable import PushmillPayload
@testable import PushmillStages

@Suite("Keys derived with PBKDF2")
struct DerivedKeysTests {
    private let passphrase = DecryptionKey(name: nil, use: .passphrase, secret: SecretBytes("correct horse".utf8))

    private let threads = StageThreads(usual: 2, limit: 2)

    private func derivation(_ salt: UInt64, iterations: Int = 10) -> Derivation {
        Derivation(passphrase: passphrase, salt: salt, iterations: iterations)
    }

    @Test("A derived key is remembered")
    func known() async throws {
        let keys = DerivedKeys()
        #expect(keys.known(derivation(1)) == nil)
        let key = try await keys.derive(derivation(1), on: threads)
        expect(key.count, is: 48)
        #expect(keys.known(derivation(1)) === key)
        #expect(try await keys.derive(derivation(1), on: threads) === key)
        #expect(keys.known(derivation(2)) == nil)
    }

    @Test("Only the most recently derived keys are remembered")
    func bounded() async throws {
        let keys = DerivedKeys(capacity: 3)
        for salt in 1...7 as ClosedRange<UInt64> { _ = try await keys.derive(derivation(salt), on: threads) }
        expect((1...7).filter { keys.known(derivation($0)) != nil }, is: [5, 6, 7])
    }

    @Test("A canceled task throws CancellationError and derives no key")
    func cancelled() async throws {
        let keys = DerivedKeys(capacity: 3)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await keys.derive(derivation(1, iterations: 1_000_000_000), on: threads)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(keys.known(derivation(1)) == nil)
    }

    @Test("The stage is immediate unless it allows openssl with PBKDF2")
    func immediate() throws {
        func isImmediate(_ change: (inout DecryptOptions) -> Void) throws -> Bool {
            try DecryptFixture(keys: DecryptKeys.text, change).stage.isImmediate
        }
        #expect(try isImmediate { _ in })
        #expect(!(try isImmediate { $0.derivation = .iterated(10) }))
        #expect(
            try isImmediate {
                $0.derivation = .iterated(10)
                $0.formats = [.jwe]
            })
    }

    @Test("After a key change, the former passphrase's key is derived if the new one fails")
    func former() async throws {
        func set() throws -> String { "{\"keys\":[\(try KeyGenerator.text(.passphrase, name: "pw"))]}" }
        let before = try set()
        let fixture = try DecryptFixture(keys: before) { $0.derivation = .iterated(10) }
        var choices = Sealer.Choices()
        choices.derivation = .iterated(10)
        let ring = KeyRing(try KeySetReader(Array(before.utf8)).keys)
        let sealed = try Sealer(choices).seal([UInt8](repeating: 0x41, count: 400), as: .openSSL, ring).text
        try fixture.folder.write(try set(), to: "keys.jwks.json")
        expect(fixture.keys.reload(.request), is: .reloaded)
        try await expect(fixture.publish(sealed).stages, is: "decrypt=ok")
    }

    @Test("Passphrase, salt and iterations give the same key as Python's PBKDF2")
    func vector() throws {
        // From Python's hashlib.pbkdf2_hmac with the salt 01 00 00 00 00 00 00 00.
        let key = try DerivedKeys().compute(derivation(1, iterations: 10))
        let bytes = withExtendedLifetime(key) { Array(key.bytes) }
        let hex = "1a9313086ad2fc20835d153ba7e9ae6da9f798b8230823a407666ee0040daeaca1f1d6b47ef758dd68cd323f0bbb69c2"
        expect(bytes, is: BinaryText.bytes(Array(hex.utf8).span, as: .hex))
    }
}
