import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("Decrypt vectors on the command line")
struct DecryptVectorTests {
    private func decrypt(_ vector: DecryptVector) async throws -> (terminal: Terminal, code: ExitCode) {
        let keys = try KeyFolder()
        try keys.folder.write("keys.json", vector.keySet)
        let terminal = Terminal(input: vector.data)
        let code = await terminal.run(Program.commands, "keys decrypt --keys \(keys.keys) \(vector.options)")
        return (terminal, code)
    }

    @Test("Good vectors decrypt to their plaintext", arguments: try DecryptVectors.read().good)
    func good(vector: DecryptVector) async throws {
        let (terminal, code) = try await decrypt(vector)
        expect(code, is: .success)
        expect(terminal.output, is: vector.plaintext)
        expect(terminal.error, is: "")
    }

    @Test("Bad vectors fail with their reason and show nothing", arguments: try DecryptVectors.read().bad)
    func bad(vector: DecryptVector) async throws {
        let (terminal, code) = try await decrypt(vector)
        expect(code, is: .badData)
        expect(terminal.output, is: "")
        #expect(terminal.error.hasPrefix("pushmill: \(vector.reason ?? "?"): "))
    }
}

extension DecryptVector {
    fileprivate var options: String {
        let options = [
            "digest": digest, "iterations": iterations.map { "\($0)" }, "dh": dh, "salt": salt,
        ]
        return options.compactMap { name, value in value.map { "--\(name)=\($0)" } }.joined(separator: " ")
    }
}
