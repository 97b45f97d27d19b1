import FoundationEssentials
import PushmillTestSupport
import Testing

@testable import PushmillStages

@Suite("Results that stages name (trust 11)")
struct StageResultsTests {
    private static let folder =
        #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" } + "/Sources/Stages"

    /// A result that is not named is counted from 1 on, and for Prometheus never grew to that.
    @Test(
        "Whatever a stage's code reports, the stage names",
        arguments: ["Decrypt", "Localize", "Contact", "Badge", "Attachment"])
    func literals(folder: String) throws {
        let path = "\(Self.folder)/\(folder)"
        let sources = try FileManager.default.subpathsOfDirectory(atPath: path).filter { $0.hasSuffix(".swift") }
            .map { try String(contentsOfFile: "\(path)/\($0)", encoding: .utf8) }
        let lines = sources.flatMap { $0.split(separator: "\n") }
        let declarations = lines.filter { $0.contains(/(?:let|var) results\b/) }
        expect(declarations.count, is: 1)
        let reported = /\.(?:failed|word)\("[a-z-]+"\)/
        let named = Set(declarations.flatMap { $0.matches(of: reported).map(\.output) })
        for line in lines where !declarations.contains(line) {
            for result in line.matches(of: reported) { #expect(named.contains(result.output), "\(result.output)") }
        }
        // A reason that is no literal is of an enumeration, of which all cases are named.
        let isComputed = lines.contains { $0.contains(/\.failed\((?:error|failure)\.reason\)/) }
        expect(isComputed, is: declarations[0].contains(".allCases.map { StageResult.failed($0.reason) }"))
    }
}
