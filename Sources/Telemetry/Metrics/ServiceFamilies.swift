/// The name, the help and the labels of every metric of the service.
struct ServiceFamilies {
    let consumed: MetricFamily<Counter>
    let published: MetricFamily<Counter>
    let deadLetters: MetricFamily<Counter>
    let messageSeconds: MetricFamily<Histogram>
    let endToEndSeconds: MetricFamily<Histogram>

    let stageResults: MetricFamily<Counter>
    let stageSeconds: MetricFamily<Histogram>
    let deadlinesExpired: MetricFamily<Counter>
    let stagesAbandoned: MetricFamily<Gauge>
    let lateResults: MetricFamily<Counter>

    let outputsReturned: MetricFamily<Counter>
    let rebalances: MetricFamily<Counter>
    let restoredRecords: MetricFamily<Counter>
    let checkpointSeconds: MetricFamily<Histogram>
    let checkpointFailures: MetricFamily<Counter>
    let transactions: MetricFamily<Counter>

    static let ready = MetricDescription(.gauge, "pushmill_ready", "1 while /readyz answers 200.")
    static let inFlightMessages = MetricDescription(
        .gauge, "pushmill_in_flight_messages", "Messages taken and not yet acknowledged.")
    static let inFlightBytes = MetricDescription(
        .gauge, "pushmill_in_flight_bytes", "Bytes of messages taken and not yet acknowledged.")
    static let lag = MetricDescription(
        .gauge, "pushmill_consumer_lag_records",
        "Records of the partition that are not taken yet, and those in flight.",
        labels: [.topic, .partition])
    static let oldestUnfinished = MetricDescription(
        .gauge, "pushmill_oldest_unfinished_seconds",
        "Age, by its timestamp, of the partition's oldest record that is not finished, 0 where there is none; "
            + "where none of them is taken yet, the age of the one taken last: theirs is less; "
            + "of a partition that is not served yet, how long it has waited here.",
        labels: [.topic, .partition])
    static let paused = MetricDescription(
        .gauge, "pushmill_consumer_paused", "1 while intake from the partition is paused.",
        labels: [.topic, .partition])
    static let mediaBytes = MetricDescription(
        .gauge, "pushmill_media_bytes", "Bytes of media in the folder, files that are still coming in included.",
        labels: [.path])
    static let mediaLimit = MetricDescription(
        .gauge, "pushmill_media_limit_bytes", "Bytes of media that the folder may hold: its `keep-at-most`.",
        labels: [.path])
    static let mediaFree = MetricDescription(
        .gauge, "pushmill_media_free_bytes",
        "Bytes that the folder's disk has above the floor that is left free; at 0 nothing more is kept.",
        labels: [.path])
    static let mediaRefused = MetricDescription(
        .counter, "pushmill_media_refused_total", "Media that was not kept for want of room.", labels: [.path])
    static let restoreLeft = MetricDescription(
        .gauge, "pushmill_restore_left_records",
        "At most so many records are left of the restores that are under way.")
    static let busy = MetricDescription(
        .counter, "pushmill_shard_busy_seconds_total", "Time that the shard's thread has worked, not waited.",
        labels: [.shard])
    static let reloads = MetricDescription(
        .counter, "pushmill_reloads_total", "How often files were read again, by name.", labels: [.target, .result])
    static let reloadSucceeded = MetricDescription(
        .gauge, "pushmill_reload_succeeded",
        "1 where what the file holds is in force; 0 where it could not be read again, and what was read before is.",
        labels: [.target])
    static let producerQueueMessages = MetricDescription(
        .gauge, "pushmill_producer_queue_messages", "Outputs that wait in the producer.")
    static let producerQueueBytes = MetricDescription(
        .gauge, "pushmill_producer_queue_bytes", "Bytes of outputs that wait in the producer.")
    static let brokerRoundTrip = MetricDescription(
        .gauge, "pushmill_broker_round_trip_seconds",
        "Mean round trip to the broker; a consumer's has the time in it that a fetch waits for records.",
        labels: [.client, .broker])
    static let build = MetricDescription(
        .gauge, "pushmill_build_info", "1, labelled with what runs.", labels: [.version])
    static let logLines = MetricDescription(
        .counter, "pushmill_log_lines_total", "Log lines by level, also those that were not written.", labels: [.level])
    static let logLinesLost = MetricDescription(
        .counter, "pushmill_log_lines_lost_total",
        "Log lines that were not written: repeated ones, and what the output did not take.",
        labels: [.reason])

    init(in registry: MetricRegistry) {
        consumed = registry.counters(
            "pushmill_records_consumed_total", "Records taken from the input topics.", labels: .topic)
        published = registry.counters(
            "pushmill_records_published_total",
            "Records whose output the brokers acknowledged, again after an aborted transaction.", labels: .outcome)
        deadLetters = registry.counters(
            "pushmill_dead_letters_total", "Dead letters that the brokers acknowledged.", labels: .reason)
        messageSeconds = registry.histograms(
            "pushmill_message_seconds", "Time from a message's turn to the hand-over of its output.", .message)
        endToEndSeconds = registry.histograms(
            "pushmill_end_to_end_seconds", "Time from a record's timestamp to its acknowledged output.", .endToEnd)

        stageResults = registry.counters(
            "pushmill_stage_results_total", "How stages ended, and why where they failed.",
            labels: .stage, .result, .reason)
        stageSeconds = registry.histograms(
            "pushmill_stage_seconds", "Time that a stage took; under load, where it computes, of one message in 16.",
            .stage, labels: .stage)
        deadlinesExpired = registry.counters(
            "pushmill_deadlines_expired_total", "Deadlines, its budget's included, that came while the stage ran.",
            labels: .stage)
        stagesAbandoned = registry.gauges(
            "pushmill_stages_abandoned", "Calls of the stage that still run without their message.", labels: .stage)
        lateResults = registry.counters(
            "pushmill_stage_late_results_total", "Results that came too late for their message and were dropped.",
            labels: .stage)

        outputsReturned = registry.counters(
            "pushmill_outputs_returned_total", "Outputs that brokers did not store, and that are sent again.")
        rebalances = registry.counters(
            "pushmill_rebalances_total", "Rebalances, by what happened to partitions of this instance.", labels: .event)
        restoredRecords = registry.counters(
            "pushmill_restore_records_total", "Records of the badge changelog that were read to restore counts.")
        checkpointSeconds = registry.histograms(
            "pushmill_checkpoint_seconds", "Time that a checkpoint took.", .checkpoint)
        checkpointFailures = registry.counters("pushmill_checkpoint_failures_total", "Checkpoints that failed.")
        transactions = registry.counters(
            "pushmill_transactions_total", "Transactions of exactly-once, by how they ended.", labels: .result)
    }
}
