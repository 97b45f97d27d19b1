import Glibc

/// A folder of a test's own, removed with the value and the files in it.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() throws {
        var template = Array("/tmp/pushmill-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemFailure(errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        for name in names { unlink("\(path)/\(name)") }
        rmdir(path)
    }

    /// Everything in it.
    package var names: [String] {
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

    /// The path of a new file with this text.
    package func write(_ text: String, to name: String) throws -> String {
        let file = "\(path)/\(name)"
        guard let stream = fopen(file, "w") else { throw SystemFailure(errno) }
        fputs(text, stream)
        guard fclose(stream) == 0 else { throw SystemFailure(errno) }
        return file
    }
}

package struct SystemFailure: Error {
    package let code: Int32

    package init(_ code: Int32) { self.code = code }
}
