/// How often files were read again. Apart from the service's metrics, because files are watched before there are any.
package struct ReloadCounts: Sendable {
    private let family: MetricFamily<Counter>

    init(_ family: MetricFamily<Counter>) { self.family = family }

    /// The label is the file's name without its folder.
    package func add(_ path: String, succeeded: Bool) {
        let name = path.split(separator: "/").last.map { String($0) } ?? path
        family.series(name, succeeded ? "ok" : "failed").add()
    }
}

extension MetricRegistry {
    package func addReloads() -> ReloadCounts {
        ReloadCounts(
            counters("pushmill_reloads_total", "Reloads of files, by name.", labels: .target, .result))
    }
}
