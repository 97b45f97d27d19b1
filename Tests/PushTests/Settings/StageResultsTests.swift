import FoundationEssentials
import PushmillTestSupport
import Testing

@testable import PushmillStages

@Suite("Results that stages declare")
struct StageResultsTests {
    private static let folder =
        #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" } + "/Sources/Stages"

    /// The counter of an undeclared result appears with the value 1, which Prometheus does not see as an increase.
    @Test(
        "A stage declares every result that its code reports",
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
        // A reason that is not a literal comes from an enumeration, all of whose cases are declared.
        let isComputed = lines.contains { $0.contains(/\.failed\((?:error|failure)\.reason\)/) }
        expect(isComputed, is: declarations[0].contains(".allCases.map { StageResult.failed($0.reason) }"))
    }
}
