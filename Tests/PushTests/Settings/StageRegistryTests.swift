import PushmillTestSupport
import Synchronization
import Testing

@testable import PushmillPayload
@testable import PushmillStages

@Suite("The stage registry")
struct StageRegistryTests {
    private struct Echo: Stage {
        let name: String

        func didReceive(_ content: inout NotificationContent, context: StageContext) async throws -> StageResult { .ok }
    }

    private struct Broken: Error {}

    private let registry = StageRegistry(adding: [
        StageEntry("echo") { settings in
            guard let word = settings.required("word", .name) else { return nil }
            return { _ in Echo(name: word) }
        },
        StageEntry("mute") { _ in { _ in throw Broken() } },
        StageEntry("refuses") { _ in nil },
    ])

    private let resources = StageResources { _, _ in }

    @Test("A stage's log messages carry its name")
    func speaker() async throws {
        let said = Mutex<[String]>([])
        let speaking = StageRegistry(adding: [
            StageEntry("echo") { _ in
                { resources in
                    resources.log(.warning, "hello")
                    return Echo(name: "echo")
                }
            }
        ])
        var settings = SettingReader(["stages": ["echo"]])
        let stage = try #require(speaking.read("stages", from: &settings).first)
        let resources = StageResources(
            log: { _, stage, message in said.withLock { $0.append("\(stage): \(message)") } },
            watcher: FileWatcher { _, _, _ in })
        _ = try await stage.build(resources)
        expect(said.withLock { $0 }, is: ["echo: hello"])
    }

    @Test("A budget of a stage that never waits is warned of")
    func budgets() {
        var settings = SettingReader([
            "stages": [
                ["echo": ["word": "x", "budget": "1s"]], ["contact": ["budget": "1s"]], ["badge": ["budget": "1s"]],
                ["localize": ["catalog": "c", "budget": "1s"]], ["decrypt": ["keys": "k", "budget": "1s"]],
            ]
        ])
        expect(registry.read("stages", from: &settings).count, is: 5)
        expect(settings.warnings.map(\.path), is: ["contact", "badge", "localize"].map { "stages.\($0).budget" })
    }

    @Test("A stage is read by its name, with the settings that all stages share") func reads() async throws {
        var settings = SettingReader([
            "stages": [
                [
                    "echo": [
                        "word": "hello", "budget": "2s",
                        "when": ["category": ["A", "B"], "apns-topic": "t", "push-type": "alert", "has": "/x"],
                    ]
                ]
            ]
        ])
        let stages = registry.read("stages", from: &settings)
        settings.finish()
        expect(settings.messages, is: [])
        let stage = try #require(stages.first)
        expect(stage.name, is: "echo")
        expect(stage.budget, is: .seconds(2))
        expect(stage.condition.categories, is: ["A", "B"])
        expect(stage.condition.topics, is: ["t"])
        expect(stage.condition.pushTypes, is: ["alert"])
        expect(stage.condition.member?.description, is: "/x")
        try await expect(stage.build(resources).name, is: "hello")
    }

    @Test("All mistakes in all stages are reported") func mistakes() {
        let names = ["echo", "mute", "refuses"] + StageRegistry.builtIn.map(\.name)
        var settings = SettingReader([
            "stages": [
                ["ecko": ["word": "x"]], ["echo": ["budget": "2h", "wen": [:], "when": ["has": "x", "hass": "x"]]],
                "mute", "mute", "refuses", "zzz",
            ]
        ])
        expect(registry.read("stages", from: &settings).map(\.name), is: ["mute", "mute"])
        expect(
            settings.messages,
            is: [
                "stages.ecko: no such stage; did you mean \"echo\"?",
                "stages.echo.when.has: expected a JSON Pointer such as /aps/alert/body, found \"x\"",
                "stages.echo.when.hass: unknown key; did you mean \"has\"?",
                "stages.echo.budget: expected a duration such as 200ms, 30s or 5m, from 1ms to 1h, found \"2h\"",
                "stages.echo.word: is required",
                "stages.echo.wen: unknown key; did you mean \"when\"?",
                "stages.mute: a stage with this name is already in the chain, at test.yaml:1:1",
                "stages.refuses: the stage cannot be used with these settings",
                "stages.zzz: no such stage; available: \(names.joined(separator: ", "))",
            ])
    }

    @Test("An error while building a stage is reported at the stage's place") func buildFails() async throws {
        var settings = SettingReader(["stages": ["mute"]])
        let stage = try #require(registry.read("stages", from: &settings).first)
        await #expect(throws: SettingProblem(place: Setting.place, path: "stages.mute", message: "Broken()")) {
            try await stage.build(resources)
        }
    }

    @Test("A stage name that a list of results cannot hold is rejected", arguments: ["a,b", "a=b", "", "a\nb"])
    func ambiguousName(_ name: String) async throws {
        let rule = "must not be empty or contain ',', '=' or a control character"
        let message = "the name \(name.debugDescription) of a stage \(rule)"
        let named = StageRegistry(adding: [StageEntry(name) { _ in { _ in Echo(name: "echo") } }])
        var settings = SettingReader(["stages": [.init(stringLiteral: name)]])
        _ = named.read("stages", from: &settings)
        #expect(settings.messages.count == 1 && settings.messages[0].hasSuffix(": \(message)"))
        // The other stage takes no empty name.
        guard !name.isEmpty else { return }
        settings = SettingReader(["stages": [["echo": ["word": .init(stringLiteral: name)]]]])
        let stage = try #require(registry.read("stages", from: &settings).first)
        await #expect(throws: SettingProblem(place: Setting.place, path: "stages.echo", message: message)) {
            try await stage.build(resources)
        }
    }

    @Test("A variable sets a stage's setting through the stage's name") func variable() {
        let overrides = SettingOverrides(
            prefix: "APP", variables: ["APP_STAGES_ECHO_WORD": "x", "APP_STAGES_ECHO_WHEN_CATEGORY": "A,B"])
        var settings = SettingReader(["stages": ["echo"]], folder: "", overrides: overrides)
        expect(registry.read("stages", from: &settings).first?.condition.categories, is: ["A", "B"])
        expect(settings.messages, is: [])
        #expect(settings.overrides.problems.isEmpty)
    }

    @Test("A program's own stage may replace a built-in one of the same name")
    func replaced() async throws {
        let registry = StageRegistry(adding: [StageEntry("badge") { _ in { _ in Echo(name: "mine") } }])
        var settings = SettingReader(["stages": ["badge", "zzz"]])
        let stages = registry.read("stages", from: &settings)
        try await expect(#require(stages.first).build(resources).name, is: "mine")
        expect(
            settings.messages,
            is: ["stages.zzz: no such stage; available: badge, decrypt, localize, contact, attachment"])
    }

    @Test("A setting problem that a stage throws is passed on unchanged")
    func problem() async throws {
        let problem = SettingProblem(place: .variable("X"), path: "p", message: "m")
        let registry = StageRegistry(adding: [StageEntry("own") { _ in { _ in throw problem } }])
        var settings = SettingReader(["stages": ["own"]])
        let stage = try #require(registry.read("stages", from: &settings).first)
        await #expect(throws: problem) { try await stage.build(resources) }
    }

    @Test("A stage's files are watched under its name; contact fails if the program opens no contacts")
    func lent() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("x", to: "a")
        let (names, name) = AsyncStream.makeStream(of: String?.self)
        let watcher = FileWatcher { _, stage, _ in name.yield(stage) }
        let registry = StageRegistry(adding: [
            StageEntry("own") { _ in
                { resources in
                    resources.watch(try ReloadableFile(path: path) { _, _ in 1 })
                    return Echo(name: "own")
                }
            }
        ])
        var settings = SettingReader(["stages": ["own", "contact"]])
        let stages = registry.read("stages", from: &settings)
        let resources = StageResources(log: { _, _, _ in }, watcher: watcher)
        _ = try await stages[0].build(resources)
        expect(watcher.paths, is: [path])
        watcher.reloadAll()
        var iterator = names.makeAsyncIterator()
        await expect(iterator.next(), is: "own")
        await #expect(throws: SettingProblem.self) { try await stages[1].build(resources) }
    }

    /// Every effective setting, by its path below the stage.
    private func effective(_ stage: Setting) throws -> [String] {
        var settings = SettingReader(["stages": [stage]])
        _ = StageRegistry().read("stages", from: &settings)
        settings.finish()
        expect(settings.messages, is: [])
        func lines(_ value: Setting, _ path: String) -> [String] {
            switch value.value {
            case .null: ["\(path) -"]
            case .scalar(let text): ["\(path) \(text)"]
            case .list(let items): items.isEmpty ? ["\(path) []"] : items.flatMap { lines($0, path) }
            case .map(let members): members.flatMap { lines($0.value, "\(path)/\($0.key)") }
            }
        }
        // Every stage has four conditions and a budget.
        return lines(settings.effective, "").dropFirst(5).map { String($0.dropFirst("/stages/".count)) }
    }

    @Test("Missing settings have the documented defaults")
    func defaults() throws {
        try expect(effective("badge"), is: ["badge/mode increment"])
        try expect(
            effective(["localize": ["catalog": "/c"]]),
            is: [
                "localize/catalog /c", "localize/default-locale en", "localize/locale-from header:locale",
                "localize/locale-from /locale",
            ])
        try expect(
            effective("contact"),
            is: [
                "contact/source state", "contact/co-partitioned false", "contact/owner-from recipient",
                "contact/replace []", "contact/unknown Someone", "contact/isolate true", "contact/in-decrypted true",
            ])
        try expect(
            effective([
                "attachment": ["store": "/m", "public-base": "https://m", "allow-hosts": "*"]
            ]),
            is: [
                "attachment/from /media-url", "attachment/type-to -", "attachment/size-to -",
                "attachment/public-base https://m/", "attachment/note 📷", "attachment/store /m",
                "attachment/allow-hosts *", "attachment/allow-http false", "attachment/keep-for 168h",
                "attachment/keep-at-most 10GB",
            ])
        try expect(
            effective(["decrypt": ["keys": "/k", "fields": [["to": "merge"], ["from": "/a"]]]]),
            is: [
                "decrypt/formats jwe", "decrypt/formats aes-gcm", "decrypt/formats chacha20-poly1305",
                "decrypt/formats webpush", "decrypt/keys /k", "decrypt/key-grace 5m",
                "decrypt/openssl/digest sha256", "decrypt/openssl/iterations -", "decrypt/webpush/header-lines false",
                "decrypt/webpush/dh-from /k", "decrypt/webpush/dh-encoding auto", "decrypt/webpush/salt-from /s",
                "decrypt/webpush/salt-encoding auto", "decrypt/key-id-from /ENCRYPTION_KEY_ID",
                "decrypt/key-id-from header:encryption-key-id", "decrypt/key-id-from recipient",
                "decrypt/key-binding none", "decrypt/required false", "decrypt/fields/from /ENCRYPTED_DATA",
                "decrypt/fields/to merge", "decrypt/fields/members title", "decrypt/fields/members subtitle",
                "decrypt/fields/members body", "decrypt/fields/encoding auto", "decrypt/fields/html-entities false",
                "decrypt/fields/from /a", "decrypt/fields/to /aps/alert/body", "decrypt/fields/members []",
                "decrypt/fields/encoding auto", "decrypt/fields/html-entities false",
                "decrypt/placeholder (Encrypted)",
            ])
    }
}
