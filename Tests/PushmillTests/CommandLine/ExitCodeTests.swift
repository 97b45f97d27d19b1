import FoundationEssentials
import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("Exit codes")
struct ExitCodeTests {
    private static let top = #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" }

    @Test("The reference page has every exit code and no other")
    func reference() throws {
        let page = try String(contentsOfFile: "\(Self.top)/deploy/REFERENCE.md", encoding: .utf8)
        let section = try #require(page.split(separator: "\n## ").first { $0.hasPrefix("Exit codes\n") })
        let told = section.matches(of: /\n\| ([0-9]+) \| [^|]{20,} \|/).map { Int32($0.output.1) }
        expect(told, is: ExitCode.allCases.map(\.rawValue))
    }

    @Test("Each error has the exit code that the page documents")
    func errors() {
        expect(ProgramError.usage("").exitCode.rawValue, is: 64)
        expect(ProgramError.badData("").exitCode.rawValue, is: 65)
        expect(ProgramError.internalFailure("").exitCode.rawValue, is: 70)
        expect(ProgramError.configuration([]).exitCode.rawValue, is: 78)
        expect(ProgramError.unreadableConfiguration("").exitCode.rawValue, is: 78)
    }
}
