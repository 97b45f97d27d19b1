import PushmillStages
import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("Mutated configurations")
struct YAMLMutationTests {
    private static let pieces =
        [
            ":", "- ", "\n", "  ", "\t", "[", "]", "{", "}", "'", "\"", "|", ">", "&a ", "*a", "!t ", "? ", "---\n",
            "#", "\\",
            "\u{0}", "\u{FEFF}", "📷", "999999999999999999999", "-1", "~", "%", "@", "<<: ", "stages", "\\ud800",
        ].map { Array($0.utf8) } + [[0xFF], [0xC3], [0xED, 0xA0, 0x80]]

    @Test("Mutated bytes give a configuration or problems, never a crash", arguments: 1...4)
    func mutations(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let source = ConfigurationSource(registry: StageRegistry(), environment: [:])
        var outcomes = (configurations: 0, problems: 0)
        for _ in 0..<1_000 {
            var bytes = Array(Example.text.utf8)
            for _ in 0..<Int.random(in: 1...6, using: &random) { Self.mutate(&bytes, &random) }
            do throws(ProgramError) {
                let configuration = try source.read(bytes, name: "f.yaml", folder: "/etc")
                outcomes.configurations += 1
                #expect(!YAMLText.render(configuration.effective).isEmpty)
            } catch {
                outcomes.problems += 1
                #expect(!error.description.isEmpty)
            }
        }
        #expect(outcomes.configurations > 0)
        #expect(outcomes.problems > 0)
    }

    private static func mutate(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        let start = Int.random(in: 0...bytes.count, using: &random)
        let end = min(bytes.count, start + Int.random(in: 0...12, using: &random))
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes.insert(contentsOf: pieces[Int.random(in: 0..<pieces.count, using: &random)], at: start)
        case 1: bytes.removeSubrange(start..<end)
        case 2: bytes.insert(contentsOf: bytes[start..<end], at: Int.random(in: 0...bytes.count, using: &random))
        case 3: bytes.removeSubrange(Int.random(in: start...bytes.count, using: &random)...)
        default: if start < bytes.count { bytes[start] = .random(in: 0...255, using: &random) }
        }
    }
}
