import Glibc

/// The demo's files in a folder of their own, removed with the value.
final class DemoFolder: Sendable {
    let path: String

    init() throws(ProgramError) {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/pushmill-demo-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Self.failure(parent) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        for (name, text) in DemoFiles.all {
            if let slash = name.firstIndex(of: "/") { mkdir("\(path)/\(name[..<slash])", 0o700) }
            try Self.write(text, to: "\(path)/\(name)")
        }
    }

    deinit { Self.remove(path) }

    private static func write(_ text: String, to file: String) throws(ProgramError) {
        guard let stream = fopen(file, "w") else { throw failure(file) }
        fputs(text, stream)
        guard fclose(stream) == 0 else { throw failure(file) }
        // Keys that others can read are worth a warning.
        chmod(file, 0o600)
    }

    private static func failure(_ path: String) -> ProgramError {
        .internalFailure("\(path) cannot be written: \(String(cString: strerror(errno)))")
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
