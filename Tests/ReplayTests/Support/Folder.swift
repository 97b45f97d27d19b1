import Glibc
import Testing

/// A folder of a test's own, gone with the last reference.
final class Folder: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/pushmill-replay-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
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

    var names: [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    func write(_ text: String, to name: String) throws -> String { try write(Array(text.utf8), to: name) }

    func write(_ bytes: [UInt8], to name: String) throws -> String {
        let path = "\(path)/\(name)"
        let file = try #require(fopen(path, "w"))
        defer { fclose(file) }
        try #require(fwrite(bytes, 1, bytes.count, file) == bytes.count)
        return path
    }

    func read(_ name: String) throws -> [UInt8] {
        let file = try #require(fopen("\(path)/\(name)", "r"))
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            if count == 0 { return bytes }
            bytes += chunk[..<count]
        }
    }

    func text(_ name: String) throws -> String { String(decoding: try read(name), as: UTF8.self) }
}
