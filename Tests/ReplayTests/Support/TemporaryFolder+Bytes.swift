import Glibc
import PushmillTestSupport
import Testing

extension TemporaryFolder {
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
