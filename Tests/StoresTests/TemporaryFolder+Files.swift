import Glibc
import TestSupport
import Testing

extension TemporaryFolder {
    func write(_ bytes: [UInt8], to name: String) throws -> String {
        let path = "\(path)/\(name)"
        let file = try #require(fopen(path, "w"))
        defer { fclose(file) }
        try #require(fwrite(bytes, 1, bytes.count, file) == bytes.count)
        return path
    }
}
