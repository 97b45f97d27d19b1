import FoundationEssentials
import Glibc
import Testing

@Suite struct AlertTests {
    /// The top of the repository.
    private static let top = #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" }

    @Test(
        "Each alert fires where it should and not where it should not",
        .enabled(if: access("/usr/bin/promtool", X_OK) == 0, "promtool is not installed"))
    func rules() throws {
        #expect(system("/usr/bin/promtool check rules \(Self.top)/deploy/prometheus/rules.yml > /dev/null 2>&1") == 0)
        #expect(
            system("/usr/bin/promtool test rules \(Self.top)/deploy/prometheus/rules.test.yml > /dev/null 2>&1") == 0)
        let rules = try String(contentsOfFile: "\(Self.top)/deploy/prometheus/rules.yml", encoding: .utf8)
        let tests = try String(contentsOfFile: "\(Self.top)/deploy/prometheus/rules.test.yml", encoding: .utf8)
        let alerts = rules.matches(of: /alert: (\w+)/).map(\.output.1)
        #expect(alerts.count > 10)
        for alert in alerts { #expect(tests.contains("alertname=\"\(alert)\""), "\(alert)") }
        #expect(rules.matches(of: /runbook: "[^"]{40,}"/).count == alerts.count)
    }
}
