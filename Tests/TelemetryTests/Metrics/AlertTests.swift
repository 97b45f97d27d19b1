import FoundationEssentials
import Glibc
import PushmillTestSupport
import Testing

@Suite("Alerts")
struct AlertTests {
    /// The folder of the rules.
    private static let folder =
        #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" } + "/deploy/prometheus"

    private func text(_ file: String) throws -> String {
        try String(contentsOfFile: "\(Self.folder)/\(file)", encoding: .utf8)
    }

    private func alerts() throws -> [Substring] { try text("rules.yml").matches(of: /- alert: (\w+)/).map(\.output.1) }

    @Test(
        "Each alert fires in its own recorded scenes and in no others",
        .enabled(if: access("/usr/bin/promtool", X_OK) == 0, "promtool is not installed"))
    func rules() throws {
        for command in ["check rules \(Self.folder)/rules.yml", "test rules \(Self.folder)/rules.test.yml"] {
            expect(system("/usr/bin/promtool \(command) > /dev/null 2>&1"), is: 0, "\(command)")
        }
    }

    @Test("The rules' tests are up to date with the recording")
    func recording() throws {
        expect(system("/usr/bin/python3 \(Self.folder)/cases --check"), is: 0, "the log says what differs")
        #expect(try alerts().count > 14)
    }

    @Test("Each alert has a runbook section: its meaning, what to look at, what to do")
    func runbook() throws {
        let sections = try text("RUNBOOK.md").split(separator: "\n## ").dropFirst()
        try expect(sections.map { $0.prefix { $0 != "\n" } }, is: alerts())
        let parts = /\*\*Means\.\*\* [^§]{40,}\*\*Look at\.\*\* [^§]{40,}\*\*Do\.\*\* [^§]{40,}/
        for section in sections { #expect(section.contains(parts), "\(section)") }
        for alert in try alerts() {
            #expect(try text("rules.yml").contains("runbook: deploy/prometheus/RUNBOOK.md#\(alert.lowercased())\n"))
        }
    }

    @Test("The dashboard's process metrics are those of the service's own job")
    func processes() throws {
        let panels = try text("../grafana/dashboards/pushmill.json").matches(of: /process_[a-z_]+\{([^}]*)\}/)
        #expect(panels.count > 2)
        for panel in panels { #expect(panel.output.1.contains(#"job=\"pushmill\""#), "\(panel.output.0)") }
    }

    @Test("Rules aggregate by job and namespace, never across them")
    func apart() throws {
        let sums = try text("rules.yml").matches(of: /(?:by|on) \(([a-z, ]*)\)/).map(\.output.1)
        #expect(sums.count > 15)
        // The StatefulSet's metric does not carry the service's job.
        for labels in sums where labels != "namespace" { #expect(labels.hasPrefix("job, namespace"), "\(labels)") }
        let bare = try text("rules.yml").matches(of: /[ (](?:sum|max|min|avg|count) ?\(/)
        #expect(bare.isEmpty)
    }
}
