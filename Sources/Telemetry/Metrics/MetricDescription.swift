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
        .gauge, "pushmill_in_flight_messages", "Messages whose output or badge count is not yet acknowledged.")
    package static let inFlightBytes = MetricDescription(
        .gauge, "pushmill_in_flight_bytes", "Bytes of messages whose output is not yet acknowledged.")
    package static let lag = MetricDescription(
        .gauge, "pushmill_consumer_lag_records",
        "Records of the partition that are unread or in flight. "
            + "Records held up by a producer's open transaction are not included, "
            + "nor new ones while intake from the partition is paused.",
        labels: [.topic, .partition])
    package static let oldestUnfinished = MetricDescription(
        .gauge, "pushmill_oldest_unfinished_seconds",
        "Age of the partition's oldest unfinished record, by its timestamp; 0 if there is none. "
            + "If none of them is consumed yet: the age of the last record consumed, an upper bound. "
            + "If its broker is unreachable or refuses reads, or a producer's open transaction holds up records: the time "
            + "since nothing was left to consume. "
            + "If the partition is not served: the age of its oldest record when it last was, or how long it has "
            + "waited here.",
        labels: [.topic, .partition])
    package static let paused = MetricDescription(
        .gauge, "pushmill_consumer_paused", "1 while intake from the partition is paused.",
        labels: [.topic, .partition])
    package static let mediaBytes = MetricDescription(
        .gauge, "pushmill_media_bytes", "Bytes of media in the folder, including unfinished files.",
        labels: [.path])
    package static let mediaLimit = MetricDescription(
        .gauge, "pushmill_media_limit_bytes", "Bytes of media that the folder may hold (`keep-at-most`).",
        labels: [.path])
    package static let mediaFree = MetricDescription(
        .gauge, "pushmill_media_free_bytes",
        "Free bytes on the folder's disk above the floor that is left free; at 0 no more media is kept.",
        labels: [.path])
    package static let mediaRefused = MetricDescription(
        .counter, "pushmill_media_refused_total", "Media that was not kept for lack of room.", labels: [.path])
    package static let restoreLeft = MetricDescription(
        .gauge, "pushmill_restore_left_records",
        "Badge changelog records left to restore, an upper bound.")
    package static let contactsFailing = MetricDescription(
        .gauge, "pushmill_contacts_failing_seconds",
        "For how long the contacts topic could not be followed; 0 while it is, or if there is none.")
    package static let busy = MetricDescription(
        .counter, "pushmill_shard_busy_seconds_total", "Time that the shard's thread worked rather than waited.",
        labels: [.shard])
    package static let reloads = MetricDescription(
        .counter, "pushmill_reloads_total", "Reloads of files, by name.", labels: [.target, .result])
    package static let reloadSucceeded = MetricDescription(
        .gauge, "pushmill_reload_succeeded",
        "1 if the file's current contents are in use; 0 if the last reload failed and the previous contents are.",
        labels: [.target])
    package static let producerQueueMessages = MetricDescription(
        .gauge, "pushmill_producer_queue_messages", "Outputs and badge counts waiting in the producer.")
    package static let producerQueueBytes = MetricDescription(
        .gauge, "pushmill_producer_queue_bytes", "Bytes of outputs and badge counts waiting in the producer.")
    package static let brokerRoundTrip = MetricDescription(
        .gauge, "pushmill_broker_round_trip_seconds",
        "Mean round trip to the broker; a consumer's includes the time that a fetch waits for records.",
        labels: [.client, .broker])
    package static let build = MetricDescription(
        .gauge, "pushmill_build_info", "1, labeled with the version.", labels: [.version])
    package static let logLines = MetricDescription(
        .counter, "pushmill_log_lines_total", "Log lines by level, including those that were not written.",
        labels: [.level])
    package static let logLinesLost = MetricDescription(
        .counter, "pushmill_log_lines_lost_total",
        "Log lines that were not written: repeated ones, and those that the output did not accept.",
        labels: [.reason])
}
