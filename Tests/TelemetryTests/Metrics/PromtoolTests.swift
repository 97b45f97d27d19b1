import Glibc
import PushmillTelemetry
import PushmillTestSupport
import Testing

/// Prometheus's own check, skipped if promtool is not installed.
@Suite(.enabled(if: access("/usr/bin/promtool", X_OK) == 0, "promtool is not installed"))
struct PromtoolTests {
    @Test("promtool has no complaint about the service's metrics")
    func check() throws {
        let registry = MetricRegistry()
        let metrics = ServiceMetrics(
            registry: registry, stages: ["decrypt"], outcomes: ["modified"], deadLetterReasons: ["not-json"])
        registry.addProcess(log: Log(), version: "1")
        registry.addWork()
        metrics.consumed(topic: "in").add()
        let reloads = ReloadCounts()
        reloads.add("/etc/keys.json", succeeded: true)
        registry.addReloads(reloads) { ["/etc/catalog"] }
        var shard = metrics.messages.shard(0)
        shard.stages[0].count("ok")

        let file = "/tmp/pushmill-metrics-\(getpid()).txt"
        defer { unlink(file) }
        let text = registry.render(.prometheus)
        let output = try #require(fopen(file, "w"))
        expect(fwrite(text, 1, text.count, output), is: text.count)
        fclose(output)

        let tool = try #require(popen("/usr/bin/promtool check metrics < \(file) 2>&1", "r"))
        var said = ""
        while let character = UnicodeScalar(UInt32(truncatingIfNeeded: fgetc(tool))) {
            said.unicodeScalars.append(character)
        }
        expect(pclose(tool), is: 0)
        expect(said, is: "")
    }
}
