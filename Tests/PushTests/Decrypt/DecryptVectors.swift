import FoundationEssentials
import Testing

@testable import Push

/// Published vectors and some of our own; `Tests/interop` reads them too.
struct DecryptVectors: Decodable {
    let good: [Vector]
    let bad: [Vector]

    static func read() throws -> DecryptVectors {
        let file = URL(filePath: #filePath).appending(path: "../../../interop/decrypt_vectors.json")
        return try JSONDecoder().decode(Self.self, from: Data(contentsOf: file.standardized))
    }
}

struct Vector: Decodable, Sendable, CustomTestStringConvertible {
    let name: String
    let format: String
    let key: [String: String]
    let data: String
    let plaintext: String?
    let reason: String?
    let digest: String?
    let iterations: Int?
    let dh: String?
    let salt: String?

    var testDescription: String { name }

    var keySet: String {
        let members = key.map { "\"\($0)\":\"\($1)\"" }.joined(separator: ",")
        return "{\"keys\":[{\(members)}]}"
    }

    /// The members beside the ciphertext.
    var members: String {
        guard let dh, let salt else { return "" }
        return ",\"k\":\"\(dh)\",\"s\":\"\(salt)\""
    }

    var derivation: PassphraseDerivation {
        if let iterations { return .iterated(iterations) }
        return digest == "md5" ? .md5 : .sha256
    }
}
