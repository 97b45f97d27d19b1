import Glibc

@testable import Stores

/// A folder of a test's own, gone with the last reference.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/pushmill-stores-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw StoreError.unopened(path: "/tmp", message: "mkdtemp") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        guard let folder = opendir(path) else { return }
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            unlink("\(path)/\(name)")
        }
        closedir(folder)
        rmdir(path)
    }

    var stateFile: String { "\(path)/state.sqlite" }
}

extension String {
    /// The text's bytes, for what takes spans.
    func withBytes<Result, E: Error>(_ body: (RawSpan) throws(E) -> Result) throws(E) -> Result {
        let bytes = Array(utf8)
        return try body(bytes.span.bytes)
    }
}

extension RawSpan {
    var text: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
