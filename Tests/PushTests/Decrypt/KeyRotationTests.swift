import Glibc
import Synchronization
import PushmillTestSupport
import Testing

@testable import PushmillCiphers
@testable import PushmillStages

@Suite("Key rotation")
struct KeyRotationTests {
    private static let readers = 4

    /// A key set and ciphertexts sealed with it.
    private struct Generation {
        let text: String
        let ciphertexts: [String]

        /// Each set has one key per use. Every second set reuses the previous set's name.
        init(_ number: Int) throws {
            let name = "k\(number / 2)"
            let uses: [KeyUse] = [.direct, .gcm256, .passphrase]
            let keys = try uses.map { try KeyGenerator.text($0, name: name) }
            text = "{\"keys\":[\(keys.joined(separator: ","))]}"
            let ring = KeyRing(try KeySetReader(Array(text.utf8)).keys)
            ciphertexts = try [SealingForm.jwe, .aesGCM].map {
                try Sealer().seal(Array("hello".utf8), as: $0, ring).text
            }
        }
    }

    private final class Progress: Sendable {
        /// The number of the current set.
        let current = Atomic<Int>(0)
        /// For each reader, the set that was current when its last finished message began.
        let finished = InlineArray<4, Atomic<Int>> { _ in Atomic(-1) }

        var slowest: Int {
            finished.indices.reduce(Int.max) { min($0, finished[$1].load(ordering: .acquiring)) }
        }
    }

    @Test("Through a hundred key changes, no message with a key of either set fails")
    func rotation() async throws {
        let generations = try (0...100).map(Generation.init)
        let fixture = try DecryptFixture(keys: generations[0].text)
        let chain = fixture.chain
        let progress = Progress()
        let failures = try await withThrowingTaskGroup(of: [String].self) { group in
            for reader in 0..<Self.readers {
                group.addTask {
                    var failures: [String] = []
                    while progress.finished[reader].load(ordering: .relaxed) < 100 {
                        let number = progress.current.load(ordering: .acquiring)
                        for ciphertext in generations[number].ciphertexts {
                            let result = try await DecryptFixture.publish(DecryptFixture.message(ciphertext), chain)
                            if result.body != "hello" { failures.append("\(number): \(result.stages ?? "")") }
                        }
                        progress.finished[reader].store(number, ordering: .releasing)
                        // The stage never suspends: without the yield, the readers would occupy every thread.
                        await Task.yield()
                    }
                    return failures
                }
            }
            for number in 1...100 {
                // A message spans at most one change.
                while progress.slowest < number - 1 { await Task.yield() }
                try fixture.folder.write(generations[number].text, to: "keys.jwks.json")
                expect(fixture.keys.reload(.request), is: .reloaded)
                progress.current.store(number, ordering: .releasing)
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        expect(failures, is: [])
        expect(fixture.keys.version, is: 100)
    }

    @Test("A removed key opens nothing if it is revoked or if the grace is zero")
    func revoked() async throws {
        let generations = try (0...1).map { try Generation($0 * 2) }
        let keys = String(generations[1].text.dropLast(2))
        let revocation = #",{"kid":"k0","revoked":true}]}"#
        func stages(_ fixture: DecryptFixture, _ ciphertext: Int) async throws -> String? {
            try await fixture.publish(generations[0].ciphertexts[ciphertext]).stages
        }
        let fixture = try DecryptFixture(keys: generations[0].text)
        for text in [generations[1].text, keys + revocation] {
            try await expect(stages(fixture, 0), is: "decrypt=ok")
            try fixture.folder.write(text, to: "keys.jwks.json")
            expect(fixture.keys.reload(.request), is: .reloaded)
        }
        try await expect(stages(fixture, 0), is: "decrypt=failed:no-key")
        try await expect(stages(fixture, 1), is: "decrypt=failed:authentication")
        try await expect(fixture.publish(generations[1].ciphertexts[0]).stages, is: "decrypt=ok")

        // Revoked by the change that removes it: by its name, by its bytes, and by a set with no other key.
        let hexed = try #require(generations[0].text.firstMatch(of: /"alg":"dir","k":"[^"]*"/)).output
        for text in [
            keys + revocation, keys + #",{"revoked":true,\#(hexed)}]}"#, #"{"keys":[{"kid":"k0","revoked":true}]}"#,
        ] {
            let fixture = try DecryptFixture(keys: generations[0].text)
            try fixture.folder.write(text, to: "keys.jwks.json")
            expect(fixture.keys.reload(.request), is: .reloaded)
            try await expect(stages(fixture, 0), is: "decrypt=failed:no-key")
        }

        // A pair without a name: a single web push key needs none.
        let pair = try KeyGenerator.text(.webPush, name: nil)
        let revokedPair = pair.dropLast() + #","revoked":true}"#
        let folder = try TemporaryFolder()
        let pairs = try folder.write(#"{"keys":[\#(pair)]}"#, to: "pairs.json")
        let ring = try KeySetFile.open(pairs, StageResources { _, _ in })
        #expect(ring.value.key(for: KeyNeed(.webPush)) != nil)
        try folder.write(#"{"keys":[\#(revokedPair)]}"#, to: "pairs.json")
        expect(ring.reload(.request), is: .reloaded)
        #expect(ring.value.key(for: KeyNeed(.webPush)) == nil)
        #expect(ring.value.formers.allSatisfy { $0.ring.key(for: KeyNeed(.webPush)) == nil })

        let path = try folder.write(generations[0].text, to: "keys.json")
        let file = try KeySetFile.open(path, StageResources { _, _ in }, grace: .zero)
        try folder.write(generations[1].text, to: "keys.json")
        expect(file.reload(.request), is: .reloaded)
        #expect(file.value.formers.isEmpty)
    }

    @Test("An entry that revokes bytes leaves a replaced key of the same name in force for the grace time")
    func sameName() throws {
        let keys = try (0..<3).map { _ in try KeyGenerator.text(.gcm256, name: "k") }
        let revoked = keys[0].dropLast() + #","revoked":true}"#
        let folder = try TemporaryFolder()
        let path = try folder.write(#"{"keys":[\#(revoked),\#(keys[1])]}"#, to: "keys.json")
        let file = try KeySetFile.open(path, StageResources { _, _ in })
        let before = file.value.keys.map(\.serial)
        try folder.write(#"{"keys":[\#(revoked),\#(keys[2])]}"#, to: "keys.json")
        expect(file.reload(.request), is: .reloaded)
        expect(file.value.formers.map { $0.ring.keys.map(\.serial) }, is: [before])
    }

    @Test("Replaced keys go when their time is over, even if the file does not change again")
    func wiped() throws {
        let generations = try (0..<2).map { try Generation($0) }
        let folder = try TemporaryFolder()
        let path = try folder.write(generations[0].text, to: "keys.json")
        let file = try KeySetFile.open(path, StageResources { _, _ in }, grace: .nanoseconds(1))
        try folder.write(generations[1].text, to: "keys.json")
        expect(file.reload(.request), is: .reloaded)
        expect(file.value.formers.count, is: 1)
        let (version, keys) = (file.version, file.value.keys.map(\.serial))
        expect(file.reload(.poll), is: .unchanged)
        expect(file.value.formers.count, is: 0)
        #expect(file.version > version)
        expect(file.value.keys.map(\.serial), is: keys)
        let tidy = file.version
        expect(file.reload(.poll), is: .unchanged)
        expect(file.version, is: tidy)
    }

    @Test("A revoked key opens nothing even if the set still contains it, and a warning says so")
    func revokedBeside() async throws {
        let generation = try Generation(0)
        let fixture = try DecryptFixture(keys: generation.text)
        try await expect(fixture.publish(generation.ciphertexts[0]).stages, is: "decrypt=ok")
        let text = generation.text.dropLast(2) + #",{"kid":"k0","revoked":true}]}"#
        try fixture.folder.write(String(text), to: "keys.jwks.json")
        expect(fixture.keys.reload(.request), is: .reloaded)
        for ciphertext in generation.ciphertexts {
            try await expect(fixture.publish(ciphertext).stages, is: "decrypt=failed:no-key")
        }
        var warnings: [String] = []
        let path = try fixture.folder.write(String(text), to: "again.json")
        let ring = try KeySetFile.read(path) { warnings.append($0) }
        #expect(ring.keys.isEmpty)
        expect(warnings, is: (1...3).map { "\(path): key \($0): revoked" })
    }

    @Test("An unreadable set fails the reload and leaves the old set in force")
    func unreadable() async throws {
        let generation = try Generation(0)
        let fixture = try DecryptFixture(keys: generation.text)
        try fixture.folder.write("{", to: "keys.jwks.json")
        let outcome = fixture.keys.reload(.request)
        let path = "\(fixture.folder.path)/keys.jwks.json"
        expect(outcome, is: .failed("\(path): not a JWK Set: not JSON: unexpected end at byte 1"))
        try await expect(fixture.publish(generation.ciphertexts[0]).stages, is: "decrypt=ok")
    }

    @Test("A replaced set stays usable until its grace ends, even after a second replacement")
    func former() async throws {
        let generations = try (0...2).map { try Generation($0 * 2) }
        let keys = try generations.map { try KeySetReader(Array($0.text.utf8)).keys }
        func opens(_ ring: KeyRing, _ generation: Int) async throws -> Bool {
            let file = try ReloadableFile<KeyRing>(path: "") { _, _ in ring }
            let stage = DecryptStage(DecryptOptions(), keys: file)
            let message = DecryptFixture.message(generations[generation].ciphertexts[0])
            let chain = Chain([ChainLink(stage)], time: .manual(ManualTime()))
            return await message.publish(chain)?.stages == "decrypt=ok"
        }
        let now = ContinuousClock.now
        let first = KeyRing(keys[0])
        let second = KeyRing.of(keys[1], replacing: first, until: now + .seconds(3600))
        #expect(try await opens(second, 1))
        #expect(try await opens(second, 0))
        #expect(!(try await opens(KeyRing.of(keys[1], replacing: first, until: now), 0)))
        let third = KeyRing.of(keys[2], replacing: second, until: now + .seconds(3600))
        #expect(try await opens(third, 1))
        #expect(try await opens(third, 0))
        #expect(KeyRing.of(keys[1], replacing: second, until: now) === second)
        let short = KeyRing.of(keys[1], replacing: first, until: now)
        let late = KeyRing.of(keys[2], replacing: short, until: now + .seconds(3600))
        #expect(try await opens(late, 1))
        #expect(!(try await opens(late, 0)))
        let many = (0..<10).reduce(first) { ring, number in
            KeyRing.of(keys[1 + number % 2], replacing: ring, until: now + .seconds(3600))
        }
        expect(many.formers.count, is: KeyRing.mostFormers)
        #expect(!many.formers.contains { !$0.ring.formers.isEmpty })
        var revoked = RevokedKeys()
        revoked.add(name: "k0")
        let without = KeyRing.of(keys[1], replacing: third, until: now + .seconds(3600), revoked: revoked)
        expect(without.formers.map(\.ring.keys.count), is: [3, 3, 0])
    }

    @Test(
        "A key file readable beyond its owner and the process's group causes a warning",
        arguments: [(0o600, 0), (0o640, 0), (0o644, 1)] as [(mode_t, Int)])
    func permissions(mode: mode_t, warnings: Int) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(DecryptKeys.text, to: "keys", mode: mode)
        let lines = Mutex<[String]>([])
        _ = try KeySetFile.open(path, StageResources { _, line in lines.withLock { $0.append(line) } })
        let expected = ["\(path) holds keys and is readable by users other than its owner"]
        expect(lines.withLock { $0 }, is: Array(expected.prefix(warnings)))
    }

    @Test("Published sample keys are rejected with their position if the caller refuses samples")
    func samples() throws {
        let folder = try TemporaryFolder()
        let sample = #""kty":"oct","alg":"openssl","k":"Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZQ""#
        let own = try KeyGenerator.text(.gcm256, name: "own")
        func error(_ key: String) throws -> String? {
            let path = try folder.write("{\"keys\":[\(own),\(key)]}", to: "keys")
            try expect(KeySetFile.read(path) { _ in }.keys.count, is: 2)
            return #expect(throws: KeySetError.self) {
                try KeySetFile.read(path, replacing: nil, grace: .zero, refusesSamples: true) { _ in }
            }?.description.replacing("\(path): ", with: "")
        }
        let why = "is a published example key: create your own with 'pushmill keys generate'"
        try expect(error("{\(sample)}"), is: "key 2 \(why)")
        try expect(error("{\"kty\":\"RSA\"},{\(sample)}"), is: "key 3 \(why)")
        try expect(error("{\(sample),\"kid\":\"k\"}"), is: "key 2 \(why)")
    }

    @Test("Reading a set warns of each key that it skips")
    func passedOver() throws {
        let folder = try TemporaryFolder()
        let own = try KeyGenerator.text(.gcm256, name: "own")
        let path = try folder.write("{\"keys\":[\(own),{\"kty\":\"RSA\"}]}", to: "keys")
        var warnings: [String] = []
        let ring = try KeySetFile.read(path) { warnings.append($0) }
        expect(ring.keys.map(\.name), is: ["own"])
        expect(warnings, is: ["\(path): key 2: keys of type RSA are not supported"])
    }

    @Test("A set with the same keys keeps the former sets, minus keys that were revoked since")
    func same() throws {
        let generations = try (0...1).map { try Generation($0 * 2) }
        let keys = try generations.map { try KeySetReader(Array($0.text.utf8)).keys }
        let until = ContinuousClock.now + .seconds(3600)
        let second = KeyRing.of(keys[1], replacing: KeyRing(keys[0]), until: until)
        #expect(KeyRing.of(keys[1], replacing: second, until: nil) === second)
        var revoked = RevokedKeys()
        revoked.add(name: "k0")
        let without = KeyRing.of(keys[1], replacing: second, until: nil, revoked: revoked)
        expect(without.keys.map(ObjectIdentifier.init), is: second.keys.map(ObjectIdentifier.init))
        #expect(without.formers.map(\.ring.keys.isEmpty) == [true] && without.formers.map(\.until) == [until])
        // A different name, use or secret makes a different key.
        let first = try #require(keys[0].first)
        let renamed = DecryptionKey(name: "other", use: first.use, secret: first.secret)
        let reused = DecryptionKey(name: first.name, use: .gcm256, secret: first.secret)
        let changed = DecryptionKey(name: first.name, use: first.use, secret: SecretBytes([1]))
        let ring = KeyRing([first])
        for other in [renamed, reused, changed] { #expect(!ring.hasSameKeys(as: KeyRing([other]))) }
        #expect(!ring.hasSameKeys(as: KeyRing([first, first])) && ring.hasSameKeys(as: KeyRing([first])))
    }
}
