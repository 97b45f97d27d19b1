import PushmillTestSupport
import Testing

@testable import PushmillCiphers
@testable import PushmillPayload

@Suite("Key sets")
struct KeySetTests {
    private static let good = #"{"kty":"oct","kid":"a","alg":"A128GCM","k":"AAAAAAAAAAAAAAAAAAAAAA"}"#
    private static let point = #""kty":"EC","crv":"P-256","d":"q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94""#

    private func set(_ keys: String...) -> String { "{\"keys\":[\(keys.joined(separator: ","))]}" }

    private func read(_ text: String) throws(KeySetError) -> KeySetReader { try KeySetReader(Array(text.utf8)) }

    @Test("A generated key reads back with its use and name", arguments: KeyUse.allCases)
    func generated(use: KeyUse) throws {
        let set = try #require(KeyGenerator.add(try KeyGenerator.generate(use, name: "n\"1"), to: nil))
        let keys = try KeySetReader(set).keys
        expect(keys.map(\.use), is: [use])
        expect(keys.map(\.name), is: ["n\"1"])
    }

    @Test("Adding a key to a set leaves the rest of its text as it is")
    func adding() throws {
        let before = "{ \"keys\" : [ \(Self.good) ], \"note\" : 1e2 }"
        let key = try KeyGenerator.generate(.direct, name: "b", count: 64)
        let after = String(decoding: try #require(KeyGenerator.add(key, to: Array(before.utf8))), as: UTF8.self)
        #expect(after.hasPrefix("{ \"keys\" : [ \(Self.good)") && after.hasSuffix(", \"note\" : 1e2 }"))
        try expect(read(after).keys.map(\.name), is: ["a", "b"])
        #expect(KeyGenerator.add(key, to: Array("[]".utf8)) == nil)
    }

    @Test(
        "An unusable key is reported by position and reason, not by its name",
        arguments: [
            (#"{"kty":"oct","alg":"dir"}"#, "key 2: `k` is missing"),
            (#"{"kty":"oct","alg":"dir","k":"AA"}"#, "key 2: `k` has the wrong length for dir: 1 bytes"),
            (
                #"{"kty":"oct","kid":"x","alg":"A256KW","k":"AAAAAAAAAAAAAAAAAAAAAA"}"#,
                "key 2: `k` has the wrong length for A256KW: 16 bytes"
            ),
            (#"{"kty":"oct","alg":"openssl","k":""}"#, "key 2: `k` has the wrong length for openssl: 0 bytes"),
            (#"{"kty":"oct","alg":"C20P","k":"A+A="}"#, "key 2: `k` is not base64url"),
            (#"{"kty":"oct","alg":"C20P","k":7}"#, "key 2: `k` is not a string"),
            (
                #"{"kty":"oct","k":"AAAA"}"#,
                "key 2: `alg` is missing: expected one of "
                    + "dir, A128KW, A256KW, A256GCMKW, A128GCM, A256GCM, C20P, openssl"
            ),
            (#"{"k":"AAAA"}"#, "key 2: `kty` is missing"), ("1", "key 2: `kty` is missing"),
            (
                #"{"kty":"oct","kid":"a","alg":"A128GCM","k":"AAAAAAAAAAAAAAAAAAAAAA"}"#,
                "key 2: another key for A128GCM has the same `kid`"
            ),
            (#"{"kty":"EC","crv":"P-256","d":"AAAA"}"#, "key 2: `d` is not a P-256 private key"),
            (
                #"{"kty":"EC","crv":"P-256","d":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#,
                "key 2: `d` is not a P-256 private key"
            ),
            (
                #"{"kty":"EC","crv":"P-256","d":"__________________________________________8"}"#,
                "key 2: `d` is not a P-256 private key"
            ),
            ("{\(Self.point),\"auth\":\"AAAA\"}", "key 2: `auth` is not 16 bytes long"),
            ("{\(Self.point),\"x\":\"AAAA\"}", "key 2: `x` does not match `d`"),
            (
                "{\(Self.point),\"y\":\"JXGyvs3942BVGq8e0PTNNmwRzr5VX4m8t7GGpTM5FzE\"}",
                "key 2: `y` does not match `d`"
            ),
        ])
    func refused(key: String, why: String) {
        let text = set(Self.good, key)
        let error = #expect(throws: KeySetError.self) { try read(text) }
        expect(error?.description, is: why)
    }

    @Test(
        "Text that is not a key set is rejected",
        arguments: [
            ("", "not a JWK Set: not JSON: unexpected end at byte 0"),
            ("[]", "not a JWK Set: `keys` is missing or not an array"),
            (#"{"keys":{}}"#, "not a JWK Set: `keys` is missing or not an array"),
            (#"{"keys":[]}"#, "not a JWK Set: no usable key: the set is empty"),
            (
                #"{"keys":[{"kty":"RSA"}]}"#,
                "not a JWK Set: no usable key: key 1: keys of type RSA are not supported"
            ),
        ])
    func noSet(text: String, why: String) {
        let error = #expect(throws: KeySetError.self) { try read(text) }
        expect(error?.description, is: why)
    }

    @Test("Valid keys that cannot decrypt are skipped and reported by position")
    func passedOver() throws {
        let reader = try read(
            set(
                #"{"kty":"RSA","kid":"r"}"#, Self.good, #"{"kty":"oct","alg":"HS256","k":"AAAA"}"#,
                #"{"kty":"EC","crv":"P-384"}"#, #"{"kty":"EC","crv":"P-256","x":"A","y":"A"}"#))
        expect(reader.keys.map(\.name), is: ["a"])
        expect(
            reader.passedOver,
            is: [
                "key 1: keys of type RSA are not supported", "key 3: `alg` HS256 is not supported",
                "key 4: only the curve P-256 is supported", "key 5: a public key cannot decrypt",
            ])
    }

    @Test("A signature pair is skipped, and the next pair is the default for key agreement")
    func signatures() throws {
        let agreement = try KeyGenerator.text(.agreement, name: "b")
        for member in [#""alg":"ES256""#, #""use":"sig""#] {
            let reader = try read(set("{\(Self.point),\(member)}", agreement))
            expect(reader.passedOver, is: ["key 1: a signature key cannot decrypt"])
            expect(KeyRing(reader.keys).key(for: KeyNeed(.agreement))?.name, is: "b")
        }
        let others = [#""alg":"ECDH-ES+A256KW""#, #""use":"enc""#].map { "{\(Self.point),\($0)}" }
        try expect(read(set(others[0], others[1])).keys.map(\.use), is: [.agreement, .agreement])
        let webPush = "{\(Self.point),\"alg\":\"ES256\",\"auth\":\"AAAAAAAAAAAAAAAAAAAAAA\"}"
        try expect(read(set(webPush)).keys.map(\.use), is: [.webPush])
    }

    @Test("A key's description and dump hide its secret")
    func hidden() throws {
        let key = try #require(try read(set(Self.good)).keys.first)
        var dumped = ""
        dump(key, to: &dumped)
        #expect("\(key.secret) \(dumped)".contains("(hidden)"))
        #expect(!dumped.contains("storage"))
    }

    @Test("A key is generated in any length that its use allows, by default 32 bytes if allowed")
    func lengths() throws {
        func count(_ use: KeyUse, _ count: Int? = nil) throws -> Int? {
            let set = try #require(KeyGenerator.add(try KeyGenerator.generate(use, name: nil, count: count), to: nil))
            return try KeySetReader(set).keys.first?.secret.count
        }
        try expect([16, 32, 64].map { try count(.direct, $0) }, is: [16, 32, 64])
        try expect([.direct, .wrap128, .wrap256, .gcm128, .chacha20].map { try count($0) }, is: [32, 16, 32, 16, 32])
        #expect(try count(.passphrase) == 32 && count(.agreement) == 0 && count(.webPush) == 16)
        for wrong in [0, 15, 24] {
            #expect(throws: DecryptFailure.unsupported) { try KeyGenerator.generate(.direct, name: nil, count: wrong) }
        }
    }

    @Test("A new set begins with its first key and has one line per key")
    func lines() throws {
        var set: [UInt8]?
        for name in ["a", "b", "c"] {
            set = KeyGenerator.add(try KeyGenerator.generate(.gcm256, name: name), to: set)
        }
        let text = String(decoding: try #require(set), as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        expect(lines.count, is: 6)
        #expect(lines.first == "{\"keys\":[" && lines.suffix(2) == ["]}", ""])
        #expect(lines[2].hasPrefix(",{\"kty\":\"oct\",\"kid\":\"b\",\"alg\":\"A256GCM\",\"k\":\""))
        try expect(read(text).keys.map(\.name), is: ["a", "b", "c"])
    }

    @Test("Only the public part of a pair is published, and nothing of other keys")
    func published() throws {
        func key(_ use: KeyUse, _ name: String?) throws -> DecryptionKey {
            let set = try #require(KeyGenerator.add(try KeyGenerator.generate(use, name: name), to: nil))
            return try #require(try KeySetReader(set).keys.first)
        }
        #expect(try key(.direct, "a").published == nil)
        let agreement = try key(.agreement, "p\"q")
        let document = try JSONDocument(try #require(agreement.published))
        func text(_ name: StaticString, _ document: JSONDocument) -> String? {
            document.member(name, of: document.root).flatMap(document.string)
        }
        expect(document.childCount(of: document.root), is: 6)
        #expect(text("kty", document) == "EC" && text("crv", document) == "P-256" && text("alg", document) == "ECDH-ES")
        expect(text("kid", document), is: "p\"q")
        let point = try #require(agreement.pair).point
        expect(text("x", document), is: Base64.urlText(Array(point[1..<33])))
        expect(text("y", document), is: Base64.urlText(Array(point[33..<65])))
        let push = try key(.webPush, nil)
        let subscription = try JSONDocument(try #require(push.published))
        expect(subscription.childCount(of: subscription.root), is: 2)
        expect(text("p256dh", subscription), is: Base64.urlText(try #require(push.pair).point))
        let auth = withExtendedLifetime(push) { Array(push.secret.bytes) }
        #expect(auth.count == 16 && text("auth", subscription) == Base64.urlText(auth))
    }

    @Test("A revocation needs a name or key bytes, and `revoked` must be true or false")
    func revocations() throws {
        func why(_ key: String) -> String? {
            #expect(throws: KeySetError.self) { try read(set(Self.good, key)) }?.description
        }
        expect(why(#"{"revoked":true}"#), is: "key 2: `revoked` needs `kid`, `k` or `d`")
        expect(why(#"{"k":"","revoked":true}"#), is: "key 2: `revoked` needs `kid`, `k` or `d`")
        expect(why(#"{"revoked":1}"#), is: "key 2: `revoked` is neither true nor false")
        try expect(read(set(Self.good, #"{"kid":"x","revoked":true}"#)).keys.map(\.name), is: ["a"])
        let kept = Self.good.dropLast() + #","revoked":false}"#
        try expect(read(set(String(kept))).keys.map(\.name), is: ["a"])
    }

    @Test("A revoked key with blanked-out bytes is revoked by name and revokes no pair")
    func blanked() throws {
        let reader = try read(set("{\(Self.point)}", Self.good, #"{"kid":"a","k":"","revoked":true}"#))
        expect(reader.keys.map(\.use), is: [.agreement])
        #expect(!reader.keys.contains(where: reader.revoked.contains))
    }

    @Test("A new key may reuse the name of a key revoked by bytes, but not by name")
    func revokedName() throws {
        let new = Self.good.replacing("\"AAAA", with: "\"BAAA")
        let marked = String(Self.good.dropLast()) + #","revoked":true}"#
        try expect(read(set(marked, new)).keys.count, is: 1)
        try expect(read(set(Self.good, new, marked)).keys.count, is: 1)
        let reader = try read(set(new, #"{"kid":"a","revoked":true}"#))
        #expect(reader.keys.isEmpty && reader.passedOver == ["key 1: revoked"])
    }

    @Test("Keys for different uses may have the same name")
    func sameName() throws {
        let other = Self.good.replacing("A128GCM", with: "A128KW")
        try expect(read(set(Self.good, other)).keys.map(\.use), is: [.gcm128, .wrap128])
    }

    @Test("Key names are compared by bytes, not by Unicode equivalence")
    func equivalentNames() throws {
        let names = ["\u{E9}", "e\u{301}"]
        let keys = try read(set(Self.named(names[0]), Self.named(names[1]))).keys
        expect(keys.compactMap(\.nameBytes), is: names.map { Array($0.utf8) })
        let rings = keys.map { KeyRing([$0]) }
        try #require(rings.count == 2)
        #expect(rings[0].hasSameKeys(as: rings[0]) && !rings[0].hasSameKeys(as: rings[1]))
        let revoked = Self.revoked(name: names[0])
        expect(keys.map(revoked.contains), is: [true, false])
    }

    @Test("A duplicate among twenty thousand keys is found")
    func many() throws {
        let keys = (0..<20_000).map { Self.named("user-\($0)") }.joined(separator: ",")
        try expect(read(set(keys)).keys.count, is: 20_000)
        let error = #expect(throws: KeySetError.self) { try read(set(keys, Self.named("user-7"))) }
        expect(error?.description, is: "key 20001: another key for A128GCM has the same `kid`")
    }

    private static func revoked(
        name: String? = nil, secret: [UInt8]? = nil, point: [UInt8]? = nil
    ) -> RevokedKeys {
        var revoked = RevokedKeys()
        revoked.add(name: name, secret: secret.map { SecretBytes($0) }, point: point)
        return revoked
    }

    private static func named(_ name: String) -> String {
        #"{"kty":"oct","kid":"\#(name)","alg":"A128GCM","k":"AAAAAAAAAAAAAAAAAAAAAA"}"#
    }

    @Test("A revocation covers exactly the keys with its bytes or point, or with its name if it has neither")
    func covers() throws {
        let (one, two) = (SecretBytes([1, 2]), SecretBytes([3, 4]))
        func key(_ name: String?, _ secret: SecretBytes) -> DecryptionKey {
            DecryptionKey(name: name, use: .passphrase, secret: secret)
        }
        let named = Self.revoked(name: "a")
        #expect(named.contains(key("a", one)) && !named.contains(key("b", one)) && !named.contains(key(nil, one)))
        for name in [nil, "a"] {
            let ofBytes = Self.revoked(name: name, secret: [1, 2])
            #expect(ofBytes.contains(key("a", one)) && ofBytes.contains(key(nil, one)))
            #expect(!ofBytes.contains(key("a", two)))
        }
        let pair = try EllipticKey.generate().key
        let ofPoint = Self.revoked(name: "a", point: pair.point)
        let other = DecryptionKey(name: nil, use: .agreement, secret: one, pair: try EllipticKey.generate().key)
        #expect(ofPoint.contains(DecryptionKey(name: nil, use: .agreement, secret: two, pair: pair)))
        #expect(!ofPoint.contains(other) && !ofPoint.contains(key("a", one)))
        #expect(RevokedKeys().isEmpty && !named.isEmpty && !ofPoint.isEmpty)
    }

    @Test("Sample keys are recognized by their exact bytes")
    func samples() throws {
        func isSample(_ text: String) -> Bool {
            SampleKeys.contains(DecryptionKey(name: nil, use: .passphrase, secret: SecretBytes(text.utf8)))
        }
        #expect(isSample("correct horse battery staple") && isSample("a sample key, known to everybody"))
        #expect(!isSample("correct horse battery stapl") && !isSample("correct horse battery staples") && !isSample(""))
    }
}
