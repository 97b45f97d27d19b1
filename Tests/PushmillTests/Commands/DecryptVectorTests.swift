import FoundationEssentials
import Testing

@testable import Pushmill

@Suite("Decrypt vectors on the command line")
struct DecryptVectorTests {
    struct Vectors: Decodable {
        let good: [Vector]
        let bad: [Vector]

        static func read() throws -> Vectors {
            let file = URL(filePath: #filePath).appending(path: "../../../interop/decrypt_vectors.json")
            return try JSONDecoder().decode(Self.self, from: Data(contentsOf: file.standardized))
        }
    }

    struct Vector: Decodable, CustomTestStringConvertible, Sendable {
        let name: String
        let key: [String: String]
        let data: String
        let plaintext: String?
        let reason: String?
        let digest: String?
        let iterations: Int?
        let dh: String?
        let salt: String?

        var testDescription: String { name }

        var options: String {
            let options = [
                "digest": digest, "iterations": iterations.map { "\($0)" }, "dh": dh, "salt": salt,
            ]
            return options.compactMap { name, value in value.map { "--\(name)=\($0)" } }.joined(separator: " ")
        }
    }

    private func decrypt(_ vector: Vector) async throws -> (terminal: Terminal, code: ExitCode) {
        let keys = try KeyFolder()
        let set = String(decoding: try JSONEncoder().encode(["keys": [vector.key]]), as: UTF8.self)
        try keys.folder.write("keys.json", set)
        let terminal = Terminal(input: vector.data)
        let code = await terminal.run(Program.commands, "keys decrypt --keys \(keys.keys) \(vector.options)")
        return (terminal, code)
    }

    @Test("The good ones give their plaintext", arguments: try Vectors.read().good)
    func good(vector: Vector) async throws {
        let (terminal, code) = try await decrypt(vector)
        #expect(code == .success)
        #expect(terminal.output == vector.plaintext)
        #expect(terminal.error == "")
    }

    @Test("The bad ones fail with their reason and show nothing", arguments: try Vectors.read().bad)
    func bad(vector: Vector) async throws {
        let (terminal, code) = try await decrypt(vector)
        #expect(code == .badData)
        #expect(terminal.output == "")
        #expect(terminal.error.hasPrefix("pushmill: \(vector.reason ?? "?"): "))
    }
}
