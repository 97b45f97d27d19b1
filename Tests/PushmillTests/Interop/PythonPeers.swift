import FoundationEssentials
import Glibc
import PushmillTestSupport

/// Other implementations, in Python: `Tests/interop/peers.py`.
enum PythonPeers {
    private static let repository = URL(filePath: #filePath).appending(path: "../../../..").standardized.path
    private static let python = "\(repository)/.venv/bin/python3"

    static var isThere: Bool { access(python, X_OK) == 0 }
    static let whyNot = "jwcrypto and http_ece are not installed: deploy/test installs them into .venv"

    struct Job: Encodable {
        enum Task: String, Encodable {
            case encrypt, decrypt
        }

        let form: String
        let `do`: Task
        let key: [String: String]
        let text: String
        var alg: String?
        var enc: String?
        var zip: String?
        var dh: String?
        var salt: String?
    }

    struct Answer: Decodable {
        let text: String?
        let dh: String?
        let salt: String?
        let error: String?
    }

    /// Runs all jobs in one process: starting it takes longer than the work.
    static func run(_ jobs: [Job]) throws -> [Answer] {
        let folder = try TemporaryFolder()
        let lines = try jobs.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
        try folder.write(lines.joined(separator: "\n"), to: "jobs")
        let output = try Tool.run(
            "'\(python)' '\(repository)/Tests/interop/peers.py'", input: "\(folder.path)/jobs")
        return try output.split(separator: "\n").map { try JSONDecoder().decode(Answer.self, from: Data($0.utf8)) }
    }
}
