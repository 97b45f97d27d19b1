/// The name, kind, help and labels of a family.
package struct MetricDescription: Sendable {
    package enum Kind: String, Sendable { case counter, gauge, histogram }

    package let name: String
    package let kind: Kind
    package let help: String
    package let labels: [FieldName]

    package init(_ kind: Kind, _ name: String, _ help: String, labels: [FieldName] = []) {
        precondition(kind != .counter || name.hasSuffix("_total"), "a counter's name ends in _total")
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
    }

    /// `stage="decrypt",result="ok"`; `values` has one for each label.
    func labels(_ values: [String]) -> String {
        precondition(values.count == labels.count, "\(name) has other labels")
        return zip(labels, values).map { "\($0.rawValue)=\"\($1.escaped(quotes: true))\"" }.joined(separator: ",")
    }
}

/// The families that are measured at each scrape.
extension MetricDescription {
    package static let ready = MetricDescription(.gauge, "pushmill_ready", "1 while /readyz answers 200.")
    package static let inFlightMessages = MetricDescription(
        .gauge, "pushmill_in_flight_messages", "Messages taken and not yet acknowledged.")
    package static let inFlightBytes = MetricDescription(
        .gauge, "pushmill_in_flight_bytes", "Bytes of messages taken and not yet acknowledged.")
    package static let lag = MetricDescription(
        .gauge, "pushmill_consumer_lag_records",
        "Records of the partition that are not taken yet, and those in flight. "
            + "What a producer's open transaction holds up is not among them.",
        labels: [.topic, .partition])
    package static let oldestUnfinished = MetricDescription(
        .gauge, "pushmill_oldest_unfinished_seconds",
        "Age of the partition's oldest unfinished record, by its timestamp; 0 where there is none. "
            + "While none of them is taken yet: that of the last one taken, an upper bound. "
            + "While its broker is not reached, or lets nothing be read: since nothing was left to take. "
            + "While the partition is not served: that of its oldest record when it was, or how long it has "
            + "waited here.",
        labels: [.topic, .partition])
    package static let paused = MetricDescription(
        .gauge, "pushmill_consumer_paused", "1 while intake from the partition is paused.",
        labels: [.topic, .partition])
    package static let mediaBytes = MetricDescription(
        .gauge, "pushmill_media_bytes", "Bytes of media in the folder, files that are still coming in included.",
        labels: [.path])
    package static let mediaLimit = MetricDescription(
        .gauge, "pushmill_media_limit_bytes", "Bytes of media that the folder may hold: its `keep-at-most`.",
        labels: [.path])
    package static let mediaFree = MetricDescription(
        .gauge, "pushmill_media_free_bytes",
        "Bytes that the folder's disk has above the floor that is left free; at 0 nothing more is kept.",
        labels: [.path])
    package static let mediaRefused = MetricDescription(
        .counter, "pushmill_media_refused_total", "Media that was not kept for want of room.", labels: [.path])
    package static let restoreLeft = MetricDescription(
        .gauge, "pushmill_restore_left_records",
        "At most so many records are left of the restores that are under way.")
    package static let busy = MetricDescription(
        .counter, "pushmill_shard_busy_seconds_total", "Time that the shard's thread has worked, not waited.",
        labels: [.shard])
    package static let reloads = MetricDescription(
        .counter, "pushmill_reloads_total", "How often files were read again, by name.", labels: [.target, .result])
    package static let reloadSucceeded = MetricDescription(
        .gauge, "pushmill_reload_succeeded",
        "1 where what the file holds is in force; 0 where it could not be read again, and what was read before is.",
        labels: [.target])
    package static let producerQueueMessages = MetricDescription(
        .gauge, "pushmill_producer_queue_messages", "Outputs that wait in the producer.")
    package static let producerQueueBytes = MetricDescription(
        .gauge, "pushmill_producer_queue_bytes", "Bytes of outputs that wait in the producer.")
    package static let brokerRoundTrip = MetricDescription(
        .gauge, "pushmill_broker_round_trip_seconds",
        "Mean round trip to the broker; a consumer's has the time in it that a fetch waits for records.",
        labels: [.client, .broker])
    package static let build = MetricDescription(
        .gauge, "pushmill_build_info", "1, labelled with what runs.", labels: [.version])
    package static let logLines = MetricDescription(
        .counter, "pushmill_log_lines_total", "Log lines by level, also those that were not written.", labels: [.level])
    package static let logLinesLost = MetricDescription(
        .counter, "pushmill_log_lines_lost_total",
        "Log lines that were not written: repeated ones, and what the output did not take.",
        labels: [.reason])
}
