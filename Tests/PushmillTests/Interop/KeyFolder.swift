import FoundationEssentials
import PushmillPayload
import Testing

@testable import Pushmill

/// A key set that `keys generate` makes, and the commands and the stage that use it.
struct KeyFolder {
    let folder: ConfigurationFolder
    var keys: String { "\(folder.path)/keys.json" }

    /// `settings`: the stage's settings besides its keys.
    init(_ settings: String = "formats: [jwe, aes-gcm, chacha20-poly1305, webpush, openssl]") throws {
        folder = try ConfigurationFolder("stages: [{ decrypt: { keys: keys.json, \(settings) } }]")
    }

    @discardableResult
    func generate(_ words: String) async throws -> String { try await run("keys generate \(words)") }

    func encrypt(_ text: String, _ words: String) async throws -> String {
        try await run("keys encrypt \(words)", input: text)
    }

    func decrypt(_ text: String, _ words: String = "") async throws -> String {
        try await run("keys decrypt \(words)", input: text)
    }

    private func run(_ words: String, input: String = "") async throws -> String {
        let terminal = Terminal(input: input)
        let code = await terminal.run(Program.commands, "\(words) --keys \(keys)")
        guard code == .success else { throw Tool.Failed(description: terminal.error) }
        return terminal.output
    }

    /// The body that the stage makes of the ciphertext in a message.
    func body(_ text: String, members: [String: String] = [:]) async throws -> String? {
        let members = members.merging(["ENCRYPTED_DATA": text]) { $1 }.map { ",\"\($0)\":\"\($1)\"" }.joined()
        let payload = #"{"aps":{"alert":{"body":"?"},"mutable-content":1}\#(members)}"#
        let terminal = Terminal(input: payload.replacing("\n", with: #"\n"#))
        let code = await terminal.run(Program.commands, "apply --config \(folder.file)")
        guard code == .success else { throw Tool.Failed(description: terminal.error) }
        return try NotificationContent(terminal.output).body
    }

    /// The key set, for other implementations to read.
    func set() throws -> KeySet {
        try JSONDecoder().decode(KeySet.self, from: Data(contentsOf: URL(filePath: keys)))
    }

    struct KeySet: Decodable {
        let keys: [[String: String]]

        func key(_ name: String) throws -> [String: String] { try #require(keys.first { $0["kid"] == name }) }
    }
}
