import FoundationEssentials
import Glibc

/// Results of other implementations, made by `Tests/interop/localize_reference.py`.
struct LocalizeReference: Decodable {
    let plurals: [String: [String: String]]
    let numbers: [String: [String: String]]

    private static let repository = URL(filePath: #filePath).appending(path: "../../../..").standardized.path
    private static let interop = "\(repository)/Tests/interop/localize_reference"
    private static let python = "\(repository)/.venv"

    static func read() throws -> LocalizeReference {
        try JSONDecoder().decode(Self.self, from: Data(contentsOf: URL(filePath: "\(interop).json")))
    }

    /// Whether `deploy/test` has installed the other implementations.
    static var canBeMade: Bool { access("\(python)/ready", F_OK) == 0 }

    /// Asks the other implementations again. Returns the script's wait status and its output.
    static func compare() -> (status: Int32, said: String) {
        guard let script = popen("'\(python)/bin/python' '\(interop).py' --check 2>&1", "r") else { return (-1, "") }
        var said: [UInt8] = []
        while let byte = UInt8(exactly: fgetc(script)) { said.append(byte) }
        return (pclose(script), String(decoding: said, as: UTF8.self))
    }
}
