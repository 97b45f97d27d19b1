import PushmillTelemetry
import Testing

@Suite("Reloaded files")
struct ReloadCountsTests {
    private let registry = MetricRegistry()
    private let reloads = ReloadCounts()

    private var lines: Set<Substring> {
        Set(String(decoding: registry.render(.prometheus), as: UTF8.self).split(separator: "\n"))
    }

    @Test("Each file is exposed from the start, as successfully read and with counts of 0")
    func start() {
        registry.addReloads(reloads) { ["/etc/keys.json"] }
        #expect(
            lines.isSuperset(of: [
                #"pushmill_reload_succeeded{target="keys.json"} 1.0"#,
                #"pushmill_reloads_total{target="keys.json",result="ok"} 0.0"#,
                #"pushmill_reloads_total{target="keys.json",result="failed"} 0.0"#,
            ]))
    }

    @Test("The gauge shows only the last reload")
    func last() {
        registry.addReloads(reloads) { ["/etc/keys.json"] }
        reloads.add("/etc/keys.json", succeeded: false)
        #expect(lines.contains(#"pushmill_reload_succeeded{target="keys.json"} 0.0"#))
        reloads.add("/etc/keys.json", succeeded: true)
        #expect(lines.contains(#"pushmill_reload_succeeded{target="keys.json"} 1.0"#))
        #expect(lines.contains(#"pushmill_reloads_total{target="keys.json",result="failed"} 1.0"#))
    }

    @Test("A file that cannot be read is not hidden by another file with its name")
    func sameName() {
        registry.addReloads(reloads) { ["/etc/a/current", "/etc/b/current"] }
        reloads.add("/etc/a/current", succeeded: false)
        reloads.add("/etc/b/current", succeeded: true)
        #expect(lines.contains(#"pushmill_reload_succeeded{target="current"} 0.0"#))
        #expect(lines.contains(#"pushmill_reloads_total{target="current",result="ok"} 1.0"#))
    }
}
