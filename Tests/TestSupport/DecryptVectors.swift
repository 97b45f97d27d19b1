import FoundationEssentials
import Testing

/// Published vectors and some of our own; `Tests/interop` reads them too.
package struct DecryptVectors: Decodable {
    package let good: [DecryptVector]
    package let bad: [DecryptVector]

    package static func read() throws -> DecryptVectors {
        let file = URL(filePath: #filePath).appending(path: "../../interop/decrypt_vectors.json")
        return try JSONDecoder().decode(Self.self, from: Data(contentsOf: file.standardized))
    }
}

package struct DecryptVector: Decodable, Sendable, CustomTestStringConvertible {
    package let name: String
    package let format: String
    package let key: [String: String]
    package let data: String
    package let plaintext: String?
    package let reason: String?
    package let digest: String?
    package let iterations: Int?
    package let dh: String?
    package let salt: String?

    package var testDescription: String { name }

    package var keySet: String {
        let members = key.map { "\"\($0)\":\"\($1)\"" }.joined(separator: ",")
        return "{\"keys\":[{\(members)}]}"
    }
}
