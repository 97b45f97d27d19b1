import FoundationEssentials
import PushmillTestSupport
import Testing

extension EndToEnd {
    @Suite("Metrics that the deployment uses")
    struct DashboardTests {
        /// The root of the repository.
        private static let top = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }

        @Test(
            "Every metric and every label that an alert or a panel uses is served",
            arguments: [
                "prometheus/rules.yml", "prometheus/recording.txt", "grafana/dashboards/pushmill.json",
                "kubernetes/horizontalpodautoscaler.yaml",
            ])
        func names(_ file: String) async throws {
            let text = try String(contentsOfFile: "\(Self.top)/deploy/\(file)", encoding: .utf8)
            let used = Set(text.matches(of: /\b(?:pushmill|process)_[a-z_]+/).map { String($0.output) })
                .subtracting(["pushmill_"])
            #expect(!used.isEmpty)
            let served = try #require(try await SecrecyTests.said.value["/metrics"]).split(whereSeparator: \.isNewline)
            for name in used {
                #expect(served.contains { $0.hasPrefix("\(name) ") || $0.hasPrefix("\(name){") }, "\(name)")
            }
            for use in text.matches(of: /(pushmill_[a-z_]+)\{([^}]*)\}/) {
                let (name, selectors) = (use.output.1, use.output.2)
                for label in selectors.matches(of: /([a-z]+)(?:=|!=)/).map(\.output.1)
                where !["job", "namespace", "instance"].contains(label) {
                    #expect(
                        served.contains { $0.hasPrefix("\(name){") && $0.contains("\(label)=\"") }, "\(name){\(label)}")
                }
            }
        }

        @Test("Every counter and each file's reload gauge are served from the start")
        func start() async throws {
            let said = try await SecrecyTests.said.value
            func series(_ place: String, _ pattern: Regex<Substring>) throws -> Set<Substring> {
                Set(try #require(said[place]).matches(of: pattern).map { $0.output })
            }
            let counters = /pushmill_[a-z_]+_total(?:\{[^}]*\})?/
            let start = try series("/metrics at the start", counters)
            let end = try series("/metrics", counters)
            #expect(end.count > 50)
            expect(end.subtracting(start), is: [])
            for target in ["keys.json", "contacts.jsonl", "configuration"] {
                let line = "\npushmill_reload_succeeded{target=\"\(target)\"} 1.0\n"
                expect(said["/metrics at the start"]?.contains(line), is: true, "\(target)")
            }
            expect(said["/metrics"]?.contains("\npushmill_reload_succeeded{target=\"keys.json\"} 0.0\n"), is: true)
        }

        @Test("No series is served twice")
        func unique() async throws {
            let metrics = try #require(try await SecrecyTests.said.value["/metrics"])
            let series = metrics.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("pushmill_") }
                .map { $0.prefix { $0 != " " } }
            #expect(series.count > 100)
            expect(Set(series).count, is: series.count)
        }
    }
}
