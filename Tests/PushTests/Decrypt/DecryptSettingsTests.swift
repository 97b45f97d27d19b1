import PushmillTestSupport
import Testing

@testable import PushmillCiphers
@testable import PushmillPayload
@testable import PushmillStages

@Suite("Settings of the decrypt stage")
struct DecryptSettingsTests {
    private func read(_ settings: Setting) -> (messages: [String], effective: SettingReader) {
        var reader = SettingReader(["stages": [["decrypt": settings]]])
        _ = StageRegistry().read("stages", from: &reader)
        reader.finish()
        return (reader.messages, reader)
    }

    @Test("`keys` is the only required setting")
    func least() { expect(read(["keys": "k.json"]).messages, is: []) }

    @Test("Every setting is accepted")
    func all() {
        let settings: Setting = [
            "keys": "k.json", "formats": ["jwe", "openssl", "aes-gcm", "chacha20-poly1305", "webpush"],
            "openssl": ["digest": "sha256", "iterations": "10000"],
            "webpush": [
                "dh-from": "/k", "salt-from": "header:encryption", "dh-encoding": "z85", "salt-encoding": "hex",
                "header-lines": "true",
            ],
            "key-id-from": ["/ENCRYPTION_KEY_ID", "header:encryption-key-id", "recipient"], "required": "true",
            "fields": [
                [
                    "from": "/a", "to": "merge", "members": ["body", "chat"], "encoding": "z85",
                    "html-entities": "true",
                ],
                ["from": "/b", "to": "/aps/alert/title"],
            ],
            "placeholder": "(Verschlüsselt)",
        ]
        expect(read(settings).messages, is: [])
    }

    @Test("rot13 needs no keys and cannot be combined with other formats")
    func rot13() {
        expect(read(["formats": ["rot13"]]).messages, is: [])
        expect(
            read(["formats": ["rot13", "jwe"], "keys": "k.json"]).messages,
            is: [
                "stages.decrypt.formats: rot13 cannot be distinguished from the other formats and must be the only one"
            ])
    }

    @Test("An empty list of formats or fields is an error", arguments: ["formats", "fields"])
    func empty(key: String) {
        let why = key == "formats" ? "expected at least one format" : "expected at least one field"
        let setting: Setting = [
            "keys": "k.json", "formats": key == "formats" ? [] : ["jwe"], "fields": key == "fields" ? [] : nil,
        ]
        expect(read(setting).messages, is: ["stages.decrypt.\(key): \(why)"])
    }

    @Test("Naming keys after recipients without binding them to the recipients causes a warning")
    func binding() {
        func warnings(_ settings: Setting) -> [String] {
            read(settings).effective.warnings.map { "\($0.path): \($0.message)" }
        }
        let named: Setting = ["/id", "recipient"]
        expect(warnings(["keys": "k.json"]), is: [])
        expect(warnings(["keys": "k.json", "key-id-from": named, "key-binding": "recipient"]), is: [])
        expect(warnings(["keys": "k.json", "key-id-from": ["/id"]]), is: [])
        expect(warnings(["formats": ["rot13"], "key-id-from": named]), is: [])
        let all = warnings(["keys": "k.json", "key-id-from": named])
        expect(all.count, is: 1)
        expect(all.first?.hasPrefix("stages.decrypt.key-binding: "), is: true)
        // Without a recipient header, the record's key is the recipient.
        expect(warnings(["keys": "k.json", "key-id-from": ["key"]]), is: all)
    }

    @Test(
        "Without `key-id-from`, several names for one use in the key set cause the binding warning",
        arguments: [
            (["bob dir", "mallory dir"], true), (["bob dir", "mail openssl"], false), (["bob dir"], false),
            (["dir", "dir"], false), (["bob dir", "dir"], false), ([], false),
        ])
    func bindingByDefault(names: [String], isWarned: Bool) throws {
        let folder = try TemporaryFolder()
        let keys = names.map { words in
            let words = words.split(separator: " ")
            let name = words.count > 1 ? #""kid":"\#(words[0])","# : ""
            let secret = Base64.urlText([UInt8](repeating: 1, count: 32))
            return #"{"kty":"oct",\#(name)"alg":"\#(words.last ?? "")","k":"\#(secret)"}"#
        }
        let path = try folder.write(#"{"keys":[\#(keys.joined(separator: ","))]}"#, to: "k.json")
        func warnings(_ more: Setting, _ name: Setting) -> [String] {
            read(["keys": .init(stringLiteral: path), "key-binding": more, "key-id-from": name]).effective.warnings
                .map(\.path)
        }
        expect(warnings(nil, nil), is: (isWarned ? ["stages.decrypt.key-binding"] : []))
        expect(warnings("none", nil), is: warnings(nil, nil))
        expect(warnings("recipient", nil), is: [])
        expect(warnings(nil, ["/id"]), is: [])
    }

    @Test("`members` requires `to: merge`, must not be empty, and cannot include `aps`")
    func members() {
        let settings: Setting = [
            "keys": "k.json",
            "fields": [
                ["from": "/a", "members": ["body"]], ["from": "/b", "to": "merge", "members": ["body", "aps"]],
                ["from": "/c", "to": "merge", "members": []],
            ],
        ]
        expect(
            read(settings).messages,
            is: [
                "stages.decrypt.fields[0].members: allowed only with `to: merge`",
                "stages.decrypt.fields[1].members: `aps` is not allowed: an object that has it is refused",
                "stages.decrypt.fields[2].members: expected at least one member",
            ])
    }

    @Test("A ciphertext that is the whole alert cannot become a title or subtitle")
    func alert() {
        let fields: Setting = [
            ["from": "/aps/alert", "to": "/aps/alert/title"], ["from": "/aps/alert", "to": "/aps/alert/subtitle"],
            ["from": "/aps/alert"], ["from": "/aps/alert", "to": "merge"],
            ["from": "/aps/alert/body", "to": "/aps/alert/title"], ["from": "/c", "to": "/aps"],
        ]
        expect(
            read(["keys": "k.json", "fields": fields]).messages,
            is: [
                "stages.decrypt.fields[0].to: the alert itself is the ciphertext: it cannot hold a title",
                "stages.decrypt.fields[1].to: the alert itself is the ciphertext: it cannot hold a subtitle",
                "stages.decrypt.fields[5].to: a text in place of `aps` shows nothing: name a member of `aps`",
            ])
    }

    @Test("All mistakes are reported at once")
    func mistakes() {
        let settings: Setting = [
            "formats": ["jwee"], "openssl": ["digest": "md5", "iterations": "5"], "key-id-from": ["nobody"],
            "fields": [["from": "x", "to": "aps", "encoding": "base85"]], "placeholder": "", "webpush": ["dh": "/k"],
        ]
        expect(
            read(settings).messages,
            is: [
                "stages.decrypt.formats[0]: expected jwe, openssl, aes-gcm, chacha20-poly1305, webpush or rot13, "
                    + "found \"jwee\"; did you mean \"jwe\"?",
                "stages.decrypt.keys: is required",
                "stages.decrypt.openssl.digest: `iterations` (PBKDF2) requires sha256",
                "stages.decrypt.webpush.dh: unknown key",
                "stages.decrypt.key-id-from[0]: expected a JSON Pointer such as /from, header:NAME, recipient or key, "
                    + "found \"nobody\"",
                "stages.decrypt.fields[0].from: expected a JSON Pointer such as /aps/alert/body, found \"x\"",
                "stages.decrypt.fields[0].to: expected a JSON Pointer such as /aps/alert/body, or merge, "
                    + "found \"aps\"",
                "stages.decrypt.fields[0].encoding: expected auto, base64, base64url, hex or z85, found \"base85\"; "
                    + "did you mean \"base64\"?",
                "stages.decrypt.placeholder: expected some text, found \"\"",
            ])
    }

    @Test("The stage's options follow from its settings")
    func options() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(DecryptKeys.text, to: "k.json")
        func stage(_ settings: Setting, _ resources: StageResources = StageResources { _, _ in }) async throws
            -> DecryptStage
        {
            var reader = SettingReader(["stages": [["decrypt": settings]]])
            let stage = try #require(StageRegistry().read("stages", from: &reader).first)
            expect(reader.messages, is: [])
            return try #require(try await stage.build(resources) as? DecryptStage)
        }
        let options = try await stage([
            "keys": .init(stringLiteral: path), "formats": ["openssl", "webpush"], "key-grace": "0s",
            "openssl": ["iterations": "7"],
            "webpush": [
                "header-lines": "true", "dh-from": "header:dh", "dh-encoding": "z85", "salt-from": "/t",
                "salt-encoding": "hex",
            ],
            "key-id-from": ["/id", "key"], "key-binding": "recipient", "required": "true",
            "fields": [["from": "/a", "to": "merge", "members": "body", "encoding": "hex", "html-entities": "true"]],
            "placeholder": "none",
        ]).options
        #expect(options.formats == [.openSSL, .webPush] && options.keyGrace == .zero)
        expect(options.derivation, is: .iterated(7))
        #expect(options.draft.point.isInHeader && options.draft.salt.isInHeader)
        #expect(options.draft.point.from == .header(Array("dh".utf8)) && options.draft.point.encoding == .z85)
        #expect(options.draft.salt.from == ValueSource("/t") && options.draft.salt.encoding == .hex)
        #expect(options.keyNames == [ValueSource("/id"), .key] && options.bindsKeys && options.isRequired)
        #expect(options.placeholder == nil && options.fields.count == 1)
        let field = try #require(options.fields.first)
        #expect(field.from.description == "/a" && field.members == [Array("body".utf8)])
        #expect(field.encoding == .hex && field.hasEntities && field.text == nil && !field.isInPlace)
        let isMerged = if case .merge = field.target { true } else { false }
        #expect(isMerged)

        let usual = try await stage(["keys": .init(stringLiteral: path), "fields": [["from": "/aps/alert/title"]]])
        #expect(!usual.options.bindsKeys && !usual.options.isRequired && !usual.options.draft.point.isInHeader)
        #expect(usual.options.placeholder == "(Encrypted)" && usual.options.derivation == .sha256)
        expect(usual.options.fields.map(\.text), is: [.body])
        let inPlace = DecryptOptions.Field(from: JSONPointer(.title), to: .member(JSONPointer(.title)))
        #expect(inPlace.isInPlace && inPlace.text == .title)
    }

    @Test("Reloaded keys replace the old ones, which stay usable for `key-grace`")
    func grace() async throws {
        let folder = try TemporaryFolder()
        let (keys, others) = (DecryptKeys.text, "{\"keys\":[\(try KeyGenerator.text(.direct, name: "other"))]}")
        let sealed = try DecryptKeys.seal("x", .jwe, "k1")
        for (grace, result) in [("0s", "failed:no-key"), ("1m", "ok")] {
            let path = try folder.write(keys, to: "k.json")
            let (told, sink) = AsyncStream.makeStream(of: ReloadOutcome.self)
            let watcher = FileWatcher { _, _, outcome in sink.yield(outcome) }
            var reader = SettingReader([
                "stages": [
                    ["decrypt": ["keys": .init(stringLiteral: path), "key-grace": .init(stringLiteral: grace)]]
                ]
            ])
            let configured = try #require(StageRegistry().read("stages", from: &reader).first)
            let stage = try await configured.build(StageResources(log: { _, _, _ in }, watcher: watcher))
            try folder.write(others, to: "k.json")
            watcher.reloadAll()
            var next = told.makeAsyncIterator()
            await expect(next.next(), is: .reloaded)
            let published = await DecryptFixture.message(sealed).publish(Chain([ChainLink(stage)]))
            expect(published?.stages, is: "decrypt=\(result)")
        }
    }
}
