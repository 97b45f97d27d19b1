import Glibc

/// What a service needs to know for the sample events: stages, keys, contacts. `deploy/sample` has the same, for
/// services that the demo feeds.
package enum DemoFiles {
    /// By their paths beside the configuration.
    static let all = [
        ("keys.jwks.json", PackageResources.keys_jwks_json), ("contacts.jsonl", PackageResources.contacts_jsonl),
        ("catalog/Localizable.xcstrings", PackageResources.Localizable_xcstrings),
    ]

    /// The section of a configuration.
    package static let stages = """
        stages:
          - decrypt:
              keys: keys.jwks.json
              formats: [jwe, openssl, aes-gcm, chacha20-poly1305]
              key-id-from: [/ENCRYPTION_KEY_ID]
          - localize: { catalog: catalog, default-locale: en }
          - contact: { source: contacts.jsonl }
          - badge: { mode: increment }

        """
}

/// The demo's files in a folder of their own, removed with the value.
package final class DemoFolder: Sendable {
    package let path: String

    package init() throws(DemoError) {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/pushmill-demo-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Self.failure(parent) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        for (name, contents) in DemoFiles.all {
            if let slash = name.firstIndex(of: "/") { mkdir("\(path)/\(name[..<slash])", 0o700) }
            try Self.write(contents, to: "\(path)/\(name)")
        }
    }

    deinit { Self.remove(path) }

    private static func write(_ contents: [UInt8], to file: String) throws(DemoError) {
        guard let stream = fopen(file, "w") else { throw failure(file) }
        let written = fwrite(contents, 1, contents.count, stream)
        guard fclose(stream) == 0, written == contents.count else { throw failure(file) }
        // Keys that others can read are worth a warning.
        chmod(file, 0o600)
    }

    private static func failure(_ path: String) -> DemoError {
        DemoError(description: "\(path) cannot be written: \(String(cString: strerror(errno)))")
    }

    /// With all that came to be in it.
    private static func remove(_ path: String) {
        guard let folder = opendir(path) else {
            unlink(path)
            return
        }
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { remove("\(path)/\(name)") }
        }
        closedir(folder)
        rmdir(path)
    }
}

/// The demo's files cannot be written.
package struct DemoError: Error, CustomStringConvertible {
    package let description: String
}
