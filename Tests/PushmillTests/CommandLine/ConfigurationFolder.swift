import Glibc
import Testing

/// A folder with a configuration and other files, gone after the test.
final class ConfigurationFolder {
    let path: String
    var file: String { "\(path)/pushmill.yaml" }
    private var names: Set<String> = []

    init(_ text: String) throws {
        var template = Array("/tmp/pushmill-XXXXXX".utf8CString)
        path = String(cString: try #require(mkdtemp(&template)))
        try write("pushmill.yaml", text)
    }

    deinit {
        for name in names { unlink("\(path)/\(name)") }
        rmdir(path)
    }

    /// For a file that somebody else writes.
    func remember(_ name: String) { names.insert(name) }

    func write(_ name: String, _ text: String) throws {
        remember(name)
        let descriptor = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        try #require(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
    }
}
