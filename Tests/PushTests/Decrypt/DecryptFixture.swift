import PushmillTestSupport

@testable import PushmillCiphers
@testable import PushmillPayload
@testable import PushmillStages

/// A decrypt stage with its own keys, alone in a chain.
struct DecryptFixture {
    let folder: TemporaryFolder
    let keys: ReloadableFile<KeyRing>
    let stage: DecryptStage
    let chain: Chain

    /// `keys` is the text of a JWK Set.
    init(keys text: String, _ change: (inout DecryptOptions) -> Void = { _ in }) throws {
        var options = DecryptOptions()
        options.formats.append(.openSSL)
        change(&options)
        folder = try TemporaryFolder()
        let path = try folder.write(text, to: "keys.jwks.json")
        keys = try KeySetFile.open(path, StageResources { _, _ in })
        stage = DecryptStage(options, keys: keys)
        chain = Chain([ChainLink(stage)], time: .manual(ManualTime()))
    }

    var context: StageContext { chain.context(Delivery()) }

    /// A message with this ciphertext; `members` are more members of the payload, with a leading comma.
    static func message(
        _ ciphertext: String, members: String = "", _ headers: KeyValuePairs<String, String> = [:],
        key: String? = "anna"
    ) -> Message {
        Message(
            #"{"aps":{"alert":{"title":"T","body":"?"},"mutable-content":1},"ENCRYPTED_DATA":"\#(ciphertext)"\#(members)}"#,
            headers, key: key)
    }

    func publish(_ message: Message) async throws -> Decrypted { try await Self.publish(message, chain) }

    static func publish(_ message: Message, _ chain: Chain) async throws -> Decrypted {
        guard let published = await message.publish(chain), let value = published.value else { throw NotPublished() }
        return Decrypted(stages: published.stages, content: try NotificationContent(value))
    }

    func publish(_ ciphertext: String, members: String = "") async throws -> Decrypted {
        try await publish(Self.message(ciphertext, members: members))
    }

    struct NotPublished: Error {}
}

/// The outcome of a message.
struct Decrypted {
    let stages: String?
    let content: NotificationContent

    var body: String? { content.body }
    /// The ciphertext's member, nil if it is gone.
    var ciphertext: String? { content.string(at: JSONPointer(member: "ENCRYPTED_DATA")) }
}
