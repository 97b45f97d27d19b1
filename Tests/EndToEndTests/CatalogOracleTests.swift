import FoundationEssentials
import Glibc
import PushmillTestSupport
import Testing

@Suite("Random catalogs, held against an oracle over Babel and PyICU")
struct CatalogOracleTests {
    private static let repository = URL(filePath: #filePath).appending(path: "../../..").standardized.path
    private static let python = "\(repository)/.venv"

    /// `deploy/proving/oracle.py` lists the known differences with their reasons.
    @Test(
        "20,000 texts match the oracle, and every named difference and planted fault is found", .thorough,
        .enabled(if: access("\(python)/ready", F_OK) == 0, "deploy/peers installs the other implementations"))
    func texts() async throws {
        let oracle = try ServiceProcess(
            ["\(Self.repository)/deploy/proving/catalogs.py", "--cases", "20000", "--seed", "24", "--self-test"],
            executable: "\(Self.python)/bin/python", environment: ["PUSHMILL=\(ServiceProcess.folder)/pushmill"])
        try? await oracle.waitForEnd(within: .seconds(900))
        let end = oracle.end
        try await oracle.clear()
        expect(end, is: .exited(0), "\(oracle.lines.joined(separator: "\n"))")
        expect(oracle.lines(with: "20,000 cases, 0 of them different").count, is: 1)
        expect(oracle.lines(with: "named difference").count, is: 8)
        #expect(oracle.lines(with: "named difference, 0 times").isEmpty)
    }
}
