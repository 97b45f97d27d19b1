import FoundationEssentials
import Glibc
import PushmillTestSupport
import Testing

@Suite("Alerts (trust 11)")
struct AlertTests {
    /// Where the rules are.
    private static let folder =
        #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" } + "/deploy/prometheus"

    private func text(_ file: String) throws -> String {
        try String(contentsOfFile: "\(Self.folder)/\(file)", encoding: .utf8)
    }

    private func alerts() throws -> [Substring] { try text("rules.yml").matches(of: /- alert: (\w+)/).map(\.output.1) }

    @Test(
        "Each fires in the recorded scene that is its own, and in no other",
        .enabled(if: access("/usr/bin/promtool", X_OK) == 0, "promtool is not installed"))
    func rules() throws {
        for command in ["check rules \(Self.folder)/rules.yml", "test rules \(Self.folder)/rules.test.yml"] {
            expect(system("/usr/bin/promtool \(command) > /dev/null 2>&1"), is: 0, "\(command)")
        }
    }

    @Test("Their tests are made of the recording, and each alert fires in one scene")
    func recording() throws {
        expect(system("/usr/bin/python3 \(Self.folder)/cases --check"), is: 0)
        #expect(try alerts().count > 14)
    }

    @Test("Each has a section of the runbook: what it means, what to look at, what to do, in this order")
    func runbook() throws {
        let sections = try text("RUNBOOK.md").split(separator: "\n## ").dropFirst()
        try expect(sections.map { $0.prefix { $0 != "\n" } }, is: alerts())
        let parts = /\*\*Means\.\*\* [^§]{40,}\*\*Look at\.\*\* [^§]{40,}\*\*Do\.\*\* [^§]{40,}/
        for section in sections { #expect(section.contains(parts), "\(section)") }
        for alert in try alerts() {
            #expect(try text("rules.yml").contains("runbook: deploy/prometheus/RUNBOOK.md#\(alert.lowercased())\n"))
        }
    }

    @Test("What every program serves is the service's own on the dashboard, for all instances too")
    func processes() throws {
        let panels = try text("../grafana/dashboards/pushmill.json").matches(of: /process_[a-z_]+\{([^}]*)\}/)
        #expect(panels.count > 2)
        for panel in panels { #expect(panel.output.1.contains(#"job=\"pushmill\""#), "\(panel.output.0)") }
    }

    @Test("Rules keep jobs and namespaces apart: none adds up over both")
    func apart() throws {
        let sums = try text("rules.yml").matches(of: /(?:by|on) \(([a-z, ]*)\)/).map(\.output.1)
        #expect(sums.count > 15)
        // What the StatefulSet says has no job.
        for labels in sums where labels != "namespace" { #expect(labels.hasPrefix("job, namespace"), "\(labels)") }
        let bare = try text("rules.yml").matches(of: /[ (](?:sum|max|min|avg|count) ?\(/)
        #expect(bare.isEmpty)
    }
}
