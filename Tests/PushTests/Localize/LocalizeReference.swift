import FoundationEssentials

/// What other implementations say: made by `Tests/interop/localize_reference.py`.
struct LocalizeReference: Decodable {
    let plurals: [String: [String: String]]
    let catalog: [String]
    let choices: [String: String?]
    let numbers: [String: [String: String]]

    static func read() throws -> LocalizeReference {
        let file = URL(filePath: #filePath).appending(path: "../../../interop/localize_reference.json")
        return try JSONDecoder().decode(Self.self, from: Data(contentsOf: file.standardized))
    }
}
