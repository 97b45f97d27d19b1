import PushmillStages

/// Properties of librdkafka that the service's promises rest on. Setting one to what it has anyway does no harm.
enum ReservedProperties {
    /// Says why a property cannot be as it is set; nil if it can.
    static func refusal(of property: SettingProperty, _ guarantee: DeliverySettings.Guarantee) -> String? {
        let rule = rules.first { $0.names.contains(property.name) && ($0.guarantee ?? guarantee) == guarantee }
        guard let rule, !rule.allowed.contains(property.value.lowercased()) else { return nil }
        return "is reserved: \(rule.reason)"
    }

    private struct Rule {
        let names: [String]
        let allowed: [String]
        /// The guarantee it holds for; nil for both.
        var guarantee: DeliverySettings.Guarantee?
        let reason: String
    }

    private static let yes = ["true", "t", "1"]
    private static let no = ["false", "f", "0"]

    private static let rules = [
        Rule(
            names: ["enable.idempotence"], allowed: yes,
            reason: "without idempotence, a retry could publish twice or out of order"),
        Rule(
            names: ["enable.auto.commit", "auto.commit.enable"], allowed: no,
            reason: "an offset is committed when the output is acknowledged, not after a time"),
        Rule(
            names: ["auto.commit.interval.ms"], allowed: [],
            reason: "commits follow delivery: checkpoint-interval"),
        Rule(
            names: ["enable.auto.offset.store"], allowed: no,
            reason: "an offset is committed when the output is acknowledged, not when the record is read"),
        Rule(
            names: ["offset.store.method", "offset.store.path", "offset.store.sync.interval.ms"], allowed: ["broker"],
            reason: "offsets are committed to the group"),
        Rule(
            names: ["partition.assignment.strategy"], allowed: ["cooperative-sticky"],
            reason: "a rebalance must leave the other partitions running"),
        Rule(
            names: ["isolation.level"], allowed: ["read_committed"],
            reason: "records of aborted transactions are no notifications"),
        Rule(
            names: ["message.timeout.ms", "delivery.timeout.ms"], allowed: ["0"], guarantee: .atLeastOnce,
            reason: "a record is retried until the brokers take it or refuse it for good"),
        Rule(
            names: ["retries", "message.send.max.retries"], allowed: ["2147483647"],
            reason: "a record is retried until the brokers take it or refuse it for good"),
        Rule(
            names: ["acks", "request.required.acks"], allowed: ["all", "-1"],
            reason: "what one broker alone has can be lost with it"),
        Rule(
            names: ["transactional.id"], allowed: [], guarantee: .atLeastOnce,
            reason: "transactions come with delivery: guarantee: exactly-once"),
        Rule(
            names: ["partitioner"], allowed: ["murmur2_random"],
            reason: "a key keeps the partition that Java clients choose for it"),
        Rule(
            names: ["queuing.strategy"], allowed: ["fifo"],
            reason: "the order of a recipient's notifications is kept"),
        Rule(
            names: ["delivery.report.only.error"], allowed: no,
            reason: "offsets are committed by what the delivery reports acknowledge"),
        Rule(
            names: ["enable.partition.eof"], allowed: no,
            reason: "the service asks for it where it needs it"),
        Rule(
            names: ["test.mock.num.brokers"], allowed: ["0"],
            reason: "each client would get a broker of its own; bootstrap.servers: embedded starts one for both"),
    ]
}
