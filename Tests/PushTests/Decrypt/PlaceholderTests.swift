import PushmillTestSupport
import Testing

@testable import PushmillPayload
@testable import PushmillStages

@Suite("Placeholders for texts that cannot be decrypted")
struct PlaceholderTests {
    private let catalog: CatalogFixture

    init() throws {
        catalog = try CatalogFixture([
            "en.lproj/Localizable.strings": "SECRET = \"A message\"; NEW = \"News from %@\";",
            "de.lproj/Localizable.strings": "SECRET = \"Eine Nachricht\"; NEW = \"Neues von %@\";",
        ])
    }

    /// A chain of decrypt and localize, built from a configuration.
    private func chain(_ placeholder: String) async throws -> Chain {
        let folder = catalog.folder
        try catalog.write("keys.jwks.json", Array(DecryptKeys.text.utf8))
        var settings = SettingReader([
            "stages": [
                [
                    "decrypt": [
                        "keys": Setting(stringLiteral: "\(folder)/keys.jwks.json"),
                        "placeholder": Setting(stringLiteral: placeholder),
                    ]
                ], ["localize": ["catalog": Setting(stringLiteral: folder)]],
            ]
        ])
        let resources = StageResources { _, _ in }
        var links: [ChainLink] = []
        for stage in StageRegistry().read("stages", from: &settings) {
            links.append(ChainLink(try await stage.build(resources)))
        }
        expect(settings.messages, is: [])
        return Chain(links)
    }

    private func payload(_ alert: String, _ member: String = #","ENCRYPTED_DATA":"bad!""#) -> String {
        #"{"aps":{"alert":{\#(alert)},"mutable-content":1}\#(member)}"#
    }

    private static let key = #""loc-key":"NEW","loc-args":["Bob"]"#

    @Test("With placeholder `none` the producer's alert stays, and localize still runs")
    func none() async throws {
        let chain = try await chain("none")
        let left = await Message(payload(Self.key), ["locale": "de"]).publish(chain)
        expect(left?.value, is: payload(#""body":"Neues von Bob""#))
        expect(left?.stages, is: "decrypt=failed:malformed,localize=ok")
        await expect(Message(payload(#""body":"?""#)).publish(chain)?.value, is: payload(#""body":"?""#))
    }

    @Test(
        "A placeholder is localized if it is a catalog key without arguments, else shown as it is",
        arguments: [
            ("SECRET", "de", "Eine Nachricht"), ("SECRET", "fr", "A message"), ("(Encrypted)", "de", "(Encrypted)"),
            ("NEW", "de", "NEW"),
        ])
    func key(placeholder: String, locale: String, expected: String) async throws {
        let chain = try await chain(placeholder)
        let shown = await Message(payload(Self.key), ["locale": locale]).publish(chain)
        expect(shown?.value, is: payload(#""body":"\#(expected)""#))
    }

    @Test("On expiry the placeholder is shown too", arguments: [("none", "?", nil), ("SECRET", "", "A message")])
    func expired(placeholder: String, body: String, subtitle: String?) async throws {
        let fixture = try DecryptFixture(keys: DecryptKeys.text) { $0.placeholder = nil }
        var options = DecryptOptions()
        options.placeholder = placeholder == "none" ? nil : placeholder
        let stage = DecryptStage(options, keys: fixture.keys)
        let chain = Chain([ChainLink(stage), ChainLink(try catalog.stage())])
        var content = try NotificationContent(payload(#""body":"?""#))
        expect(stage.timeWillExpire(&content, context: .sample(chain)), is: .expired)
        expect(content.body, is: body)
        expect(content.subtitle, is: subtitle)
    }
}
