import Testing

@testable import PushmillCiphers

@Suite("Key sets")
struct KeySetTests {
    private static let good = #"{"kty":"oct","kid":"a","alg":"A128GCM","k":"AAAAAAAAAAAAAAAAAAAAAA"}"#
    private static let point = #""kty":"EC","crv":"P-256","d":"q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94""#

    private func set(_ keys: String...) -> String { "{\"keys\":[\(keys.joined(separator: ","))]}" }

    private func read(_ text: String) throws(KeySetError) -> KeySetReader { try KeySetReader(Array(text.utf8)) }

    @Test("Every generated key is read again, with its use and name", arguments: KeyUse.allCases)
    func generated(use: KeyUse) throws {
        let set = try #require(KeyGenerator.add(try KeyGenerator.generate(use, name: "n\"1"), to: nil))
        let keys = try KeySetReader(set).keys
        #expect(keys.map(\.use) == [use])
        #expect(keys.map(\.name) == ["n\"1"])
    }

    @Test("A key is added to a set, whose text stays as it is")
    func adding() throws {
        let before = "{ \"keys\" : [ \(Self.good) ], \"note\" : 1e2 }"
        let key = try KeyGenerator.generate(.direct, name: "b", count: 64)
        let after = String(decoding: try #require(KeyGenerator.add(key, to: Array(before.utf8))), as: UTF8.self)
        #expect(after.hasPrefix("{ \"keys\" : [ \(Self.good)") && after.hasSuffix(", \"note\" : 1e2 }"))
        #expect(try read(after).keys.map(\.name) == ["a", "b"])
        #expect(KeyGenerator.add(key, to: Array("[]".utf8)) == nil)
    }

    @Test(
        "A key that cannot be used says which and why",
        arguments: [
            (#"{"kty":"oct","alg":"dir"}"#, "key 2: `k` is missing"),
            (#"{"kty":"oct","alg":"dir","k":"AA"}"#, "key 2: 1 bytes are not a key for dir"),
            (
                #"{"kty":"oct","kid":"x","alg":"A256KW","k":"AAAAAAAAAAAAAAAAAAAAAA"}"#,
                "key 2 (x): 16 bytes are not a key for A256KW"
            ),
            (#"{"kty":"oct","alg":"openssl","k":""}"#, "key 2: 0 bytes are not a key for openssl"),
            (#"{"kty":"oct","alg":"C20P","k":"A+A="}"#, "key 2: `k` is not base64url"),
            (#"{"kty":"oct","alg":"C20P","k":7}"#, "key 2: `k` is not a string"),
            (
                #"{"kty":"oct","k":"AAAA"}"#,
                "key 2: `alg` is missing, which says what the key is for: "
                    + "dir, A128KW, A256KW, A256GCMKW, A128GCM, A256GCM, C20P, openssl"
            ),
            (#"{"k":"AAAA"}"#, "key 2: `kty` is missing"), ("1", "key 2: `kty` is missing"),
            (
                #"{"kty":"oct","kid":"a","alg":"A128GCM","k":"AAAAAAAAAAAAAAAAAAAAAA"}"#,
                "key 2 (a): another key for A128GCM has the same `kid`"
            ),
            (#"{"kty":"EC","crv":"P-256","d":"AAAA"}"#, "key 2: `d` is not a key of P-256"),
            (
                #"{"kty":"EC","crv":"P-256","d":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#,
                "key 2: `d` is not a key of P-256"
            ),
            (
                #"{"kty":"EC","crv":"P-256","d":"__________________________________________8"}"#,
                "key 2: `d` is not a key of P-256"
            ),
            ("{\(Self.point),\"auth\":\"AAAA\"}", "key 2: `auth` is not 16 bytes long"),
            ("{\(Self.point),\"x\":\"AAAA\"}", "key 2: `x` does not belong to `d`"),
            (
                "{\(Self.point),\"y\":\"JXGyvs3942BVGq8e0PTNNmwRzr5VX4m8t7GGpTM5FzE\"}",
                "key 2: `y` does not belong to `d`"
            ),
        ])
    func refused(key: String, why: String) {
        let text = set(Self.good, key)
        let error = #expect(throws: KeySetError.self) { try read(text) }
        #expect(error?.description == why)
    }

    @Test(
        "What is no key set is refused",
        arguments: [
            ("", "not a JWK Set: not JSON: unexpected end at byte 0"),
            ("[]", "not a JWK Set: there is no array `keys`"),
            (#"{"keys":{}}"#, "not a JWK Set: there is no array `keys`"),
            (#"{"keys":[]}"#, "not a JWK Set: no key in it can be used: it is empty"),
            (
                #"{"keys":[{"kty":"RSA"}]}"#,
                "not a JWK Set: no key in it can be used: key 1: keys of type RSA are not used here"
            ),
        ])
    func noSet(text: String, why: String) {
        let error = #expect(throws: KeySetError.self) { try read(text) }
        #expect(error?.description == why)
    }

    @Test("Sound keys for somebody else are passed over, and named")
    func passedOver() throws {
        let reader = try read(
            set(
                #"{"kty":"RSA","kid":"r"}"#, Self.good, #"{"kty":"oct","alg":"HS256","k":"AAAA"}"#,
                #"{"kty":"EC","crv":"P-384"}"#, #"{"kty":"EC","crv":"P-256","x":"A","y":"A"}"#))
        #expect(reader.keys.map(\.name) == ["a"])
        #expect(
            reader.passedOver == [
                "key 1 (r): keys of type RSA are not used here", "key 3: alg HS256 is not used here",
                "key 4: only the curve P-256 is used here", "key 5: a public key opens nothing",
            ])
    }

    @Test("No key shows itself")
    func hidden() throws {
        let key = try #require(try read(set(Self.good)).keys.first)
        var dumped = ""
        dump(key, to: &dumped)
        #expect("\(key.secret) \(dumped)".contains("(hidden)"))
        #expect(!dumped.contains("storage"))
    }
}
