package import PushmillStages

extension Measurement {
    /// What a message costs with work for every stage that needs no network. Writes into the folder.
    package static func wholeChain(in folder: String) async throws -> [Measurement] {
        let path = "\(folder)/contacts.jsonl"
        try ContactSample.write(to: path) { write in write(Array(WholeChainSample.contact.utf8)) }
        return try await wholeChain(try ContactFile(path: path))
    }
}
