import FoundationEssentials
import PushmillTestSupport
import Testing

/// The inputs that `deploy/fuzz` starts from, and its past findings: each runs through its target, whole and cut short.
@Suite("Seeds of the fuzz targets")
struct SeedTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().path + "/Seeds"

    @Test("A target's promises hold for each of its seeds, whole or cut short", arguments: FuzzTargets.names)
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

    @Test("Every target has a folder of seeds, and every folder has a target")
    func folders() throws {
        expect(Set(try FileManager.default.contentsOfDirectory(atPath: Self.folder)), is: Set(FuzzTargets.names))
    }

    @Test("Every ciphertext seed that is not named as bad opens to the sealed text")
    func ciphertexts() throws {
        let target = try CiphertextTarget("ciphertext")
        let folder = "\(Self.folder)/ciphertext"
        for seed in try FileManager.default.contentsOfDirectory(atPath: folder) where !seed.hasPrefix("bad") {
            let bytes = Array(try Data(contentsOf: URL(filePath: "\(folder)/\(seed)")))
            #expect(try target.opens(bytes), "\(seed)")
        }
    }
}
