/// Where we start from another value than librdkafka does.
enum KafkaDefaults {
    static let common: [(name: String, value: String)] = [
        ("bootstrap.servers", "kafka:9092"),
        ("client.id", "pushmill"),
        // Lag, queue and round trips are read from them.
        ("statistics.interval.ms", "1000"),
    ]

    static let consumer: [(name: String, value: String)] = [
        ("group.id", "pushmill"),
        ("auto.offset.reset", "earliest"),
        // The partitions of an instance that was killed are served again within seconds, not after 45 of them.
        ("session.timeout.ms", "6000"),
        ("heartbeat.interval.ms", "250"),
    ]

    static let producer: [(name: String, value: String)] = [
        ("linger.ms", "5")
    ]
}
