import PushmillKafka

/// An output producer, and what it has reported.
final class Output {
    let signal = WakeSignal()
    let producer: OutputProducer
    let topic: OutputTopic
    private(set) var stored: [UInt64] = []
    private(set) var returned: [UInt64: OutputDelivery] = [:]

    init(
        _ cluster: MockCluster, _ more: [(name: String, value: String)] = [],
        log: @escaping KafkaLogSink = { _, _, _ in }
    ) throws {
        producer = try OutputProducer(
            ClientProperties([("bootstrap.servers", cluster.bootstrapServers), ("linger.ms", "1")] + more),
            signal: signal, log: log)
        topic = try producer.topic("t")
    }

    func publish(_ numbers: some Sequence<Int>, partitions: Int = 1) throws {
        for number in numbers {
            var headers = Headers()
            headers.add("n", "\(number)")
            let result = withBytes("\(number)") { value in
                producer.publish(
                    to: topic, partition: Int32(number % partitions), key: value, value: value, headers: &headers,
                    timestamp: 5, tag: UInt64(number))
            }
            guard case .queued = result else { throw KafkaError("not queued: \(result)") }
        }
    }

    func take() {
        producer.takeReports { report in
            if report.returned == nil { stored.append(report.tag) } else { returned[report.tag] = report }
        }
    }

    func until(_ holds: (Output) -> Bool) throws {
        let end = ContinuousClock.now + .seconds(60)
        while !holds(self) {
            guard .now < end else { throw KafkaError("never: \(stored.count) \(returned.count)") }
            signal.wait(nanoseconds: 20_000_000)
            take()
        }
    }
}
