import PushmillPayload

/// A secret that has a file of its own, as mounted secrets do.
enum SecretText {
    /// What is read is empty, or not UTF-8.
    struct Unusable: Error, CustomStringConvertible {
        fileprivate let path: String
        var description: String { "\(path) is empty, or not UTF-8" }
    }

    private static let limit = 1 << 20

    /// All of it but the line end that an editor leaves behind it.
    static func read(_ path: String) throws -> String {
        var file = try FileBytes(path: path, limit: limit)
        return try text(of: &file, path)
    }

    /// Wipes the file's bytes, whatever they are. The text is not wiped: librdkafka's clients need it for as long as they
    /// are, and so do those that are made anew.
    static func text(of file: inout FileBytes, _ path: String) throws(Unusable) -> String {
        defer { file.wipe() }
        guard var text = String(validating: file.bytes, as: UTF8.self) else { throw Unusable(path: path) }
        if text.hasSuffix("\r\n") || text.hasSuffix("\n") { text.removeLast() }
        guard !text.isEmpty else { throw Unusable(path: path) }
        return text
    }
}
