extension MetricRegistry {
    /// What the process, the build and the log say of themselves.
    package func addProcess(log: Log, version: String, revision: String) {
        add(
            MeasuredFamily(
                MetricDescription(
                    .gauge, "pushmill_build_info", "1, labelled with what runs.", labels: [.version, .revision])
            ) { [.init(1, version, revision)] })
        let lines = MetricDescription(
            .counter, "pushmill_log_lines_total", "Log lines by level, those held back included.", labels: [.level])
        add(
            MeasuredFamily(lines) { [counts = log.counts] in
                LogLevel.allCases.map { .init(Double(counts.lines($0)), $0.name) }
            })
        let lost = MetricDescription(
            .counter, "pushmill_log_lines_lost_total", "Log lines that were not written, by reason.", labels: [.reason])
        add(
            MeasuredFamily(lost) { [counts = log.counts] in
                [.init(Double(counts.heldBack), "repeated"), .init(Double(counts.lost), "output")]
            })
        add(ProcessMetrics())
    }
}
