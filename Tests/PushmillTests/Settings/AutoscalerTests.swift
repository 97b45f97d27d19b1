import FoundationEssentials
import Testing

@Suite("The autoscaler")
struct AutoscalerTests {
    private static let folder =
        #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" } + "/deploy/kubernetes"

    private func text(_ file: String) throws -> String {
        try String(contentsOfFile: "\(Self.folder)/\(file)", encoding: .utf8)
    }

    @Test("The autoscaler uses requested CPU and the oldest record's age, never lag")
    func metrics() throws {
        let manifest = try text("horizontalpodautoscaler.yaml")
        #expect(manifest.contains(/- type: Resource\n +resource:\n +name: cpu\n +target: \{ type: Utilization,/))
        #expect(manifest.contains("metric: { name: pushmill_oldest_unfinished_seconds }"))
        #expect(!manifest.contains("pushmill_consumer_lag_records"))
        #expect(try text("statefulset.yaml").contains(/requests: \{ cpu: [0-9]+m?,/))
    }

    @Test("The adapter's rule serves the metric that the autoscaler requests")
    func adapter() throws {
        let rule = try text("README.md")
        #expect(rule.contains("seriesQuery: pushmill_oldest_unfinished_seconds{"))
        #expect(rule.contains("metricsQuery: max by (<<.GroupBy>>) (<<.Series>>{<<.LabelMatchers>>})"))
    }
}
