import FoundationEssentials
import PushmillTestSupport
import Testing

/// What `deploy/fuzz` begins with, and what it has found: each goes through its target, whole and cut short.
@Suite("Seeds of the fuzz targets")
struct SeedTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().path + "/Seeds"

    @Test("Every seed keeps its target's promises, and so does a part of it", arguments: FuzzTargets.names)
    func seeds(name: String) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(Self.folder)/\(name)").sorted()
        #expect(!names.isEmpty)
        let target = try #require(try FuzzTargets.make(name))
        var random = SeededGenerator(seed: 1)
        for seed in names {
            let bytes = Array(try Data(contentsOf: URL(filePath: "\(Self.folder)/\(name)/\(seed)")))
            #expect(throws: Never.self, "\(seed)") { try target.run(bytes) }
            let part = Array(bytes.prefix(.random(in: 0...bytes.count, using: &random)))
            #expect(throws: Never.self, "\(seed), its first \(part.count) bytes") { try target.run(part) }
        }
    }

    @Test("Every folder of seeds belongs to a target")
    func folders() throws {
        expect(Set(try FileManager.default.contentsOfDirectory(atPath: Self.folder)), is: Set(FuzzTargets.names))
    }

    @Test("The ciphertexts among the seeds open")
    func ciphertexts() throws {
        let target = try CiphertextTarget("ciphertext")
        let folder = "\(Self.folder)/ciphertext"
        for seed in try FileManager.default.contentsOfDirectory(atPath: folder) where !seed.hasPrefix("bad") {
            let bytes = Array(try Data(contentsOf: URL(filePath: "\(folder)/\(seed)")))
            #expect(try target.opens(bytes), "\(seed)")
        }
    }
}
