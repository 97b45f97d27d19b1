import Glibc

/// A folder of a test's own, removed with the value and everything in it.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() throws {
        var template = Array("/tmp/pushmill-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemFailure(errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { Self.clear(path) }

    private static func clear(_ folder: String) {
        for name in names(in: folder) {
            let path = "\(folder)/\(name)"
            // Not empty, if it is a folder.
            if remove(path) != 0 { clear(path) }
        }
        rmdir(folder)
    }

    /// Everything in it.
    package var names: [String] { Self.names(in: path) }

    private static func names(in path: String) -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// The path of a file with this text.
    @discardableResult
    package func write(_ text: String, to name: String, mode: UInt32 = 0o600) throws -> String {
        try write(Array(text.utf8), to: name, mode: mode)
    }

    /// Writes as editors and orchestrators do, by renaming: the file is never half there. Gives its path.
    @discardableResult
    package func write(_ bytes: [UInt8], to name: String, mode: UInt32 = 0o600) throws -> String {
        let file = "\(path)/\(name)"
        guard let stream = fopen(file + "~", "w") else { throw SystemFailure(errno) }
        fwrite(bytes, 1, bytes.count, stream)
        guard fclose(stream) == 0, chmod(file + "~", mode) == 0, rename(file + "~", file) == 0 else {
            throw SystemFailure(errno)
        }
        return file
    }

    package func makeFolder(_ name: String) throws {
        guard mkdir("\(path)/\(name)", 0o700) == 0 else { throw SystemFailure(errno) }
    }

    package func delete(_ name: String) { unlink("\(path)/\(name)") }
}

package struct SystemFailure: Error {
    package let code: Int32

    package init(_ code: Int32) { self.code = code }
}
