import Kafka

/// Finds out which of the outputs that were refused together the brokers refuse: each is sent in a batch of its own, in
/// transactions that are aborted.
struct Hearing {
    /// Milliseconds.
    private static let patience: Int32 = 10_000
    private static let pollPatience: Int32 = 200

    private let properties: ClientProperties
    private let output: String
    private let deadLetters: String
    private let onKafkaLog: KafkaLogSink

    init(_ settings: WorkerSettings, onKafkaLog: @escaping KafkaLogSink) {
        var properties = settings.producer
        properties["transactional.id"] = properties["transactional.id"].map { $0 + "-hearing" }
        properties["batch.num.messages"] = "1"
        properties["linger.ms"] = "0"
        self.properties = properties
        output = settings.output
        deadLetters = settings.deadLetters
        self.onKafkaLog = onKafkaLog
    }

    /// The indices of those that are refused alone, with the reasons. Blocks; throws when the brokers do not answer.
    func hear(_ accused: [Trial.Accusation]) throws(KafkaError) -> [Int: KafkaError] {
        // A batch of one.
        if accused.count == 1 { return [0: accused[0].returned.error] }
        var guilty: [Int: KafkaError] = [:]
        var unheard = Array(accused.indices)
        while !unheard.isEmpty {
            let heard = try hear(unheard.map { ($0, accused[$0]) })
            guard !heard.isEmpty else { throw .unanswered }
            guilty.merge(heard.compactMapValues(\.self)) { first, _ in first }
            unheard.removeAll { heard[$0] != nil }
        }
        return guilty
    }

    /// Of those that were answered, nil where they were taken. After the first that is refused nothing more is sent.
    private func hear(_ accused: [(index: Int, Trial.Accusation)]) throws(KafkaError) -> [Int: KafkaError?] {
        // The refused one leaves a gap in the sequence of its producer's.
        let producer = try Producer(properties, log: onKafkaLog)
        let (output, deadLetters) = (try producer.topic(output), try producer.topic(deadLetters))
        try producer.initTransactions(milliseconds: Self.patience)
        try producer.beginTransaction()
        var answers: [Int: KafkaError?] = [:]
        var awaited = 0
        func poll(_ milliseconds: Int32) -> Bool {
            var reports: [DeliveryReport] = []
            producer.poll(milliseconds: milliseconds, into: &reports)
            awaited -= reports.count
            var isRefused = false
            for report in reports {
                if report.error?.blamesRecord == false { continue }
                answers[Int(report.opaque)] = .some(report.error)
                if report.error != nil { isRefused = true }
            }
            return isRefused
        }
        var isOver = false
        for (index, accusation) in accused where !isOver {
            var headers = accusation.returned.headers
            var result = PublishResult.full
            while case .full = result, !isOver {
                result = accusation.returned.key.withBytes { key in
                    accusation.returned.value.withBytes { value in
                        producer.publish(
                            to: accusation.isLetter ? deadLetters : output, key: key, value: value, headers: &headers,
                            timestamp: accusation.timestamp, opaque: UInt64(index))
                    }
                }
                if case .full = result { isOver = poll(Self.pollPatience) }
            }
            switch result {
            case .queued: awaited += 1
            case .full: break
            case .refused(let error) where error.isTooLarge: answers[index] = .some(error)
            case .refused: isOver = true
            }
        }
        let deadline = ContinuousClock.now + .milliseconds(Int(Self.patience))
        while awaited > 0, !isOver, deadline > .now { isOver = poll(Self.pollPatience) }
        while true {
            do throws(KafkaError) {
                try producer.abortTransaction(milliseconds: Self.pollPatience)
                return answers
            } catch {
                // It waits for reports, which are taken here.
                guard error.isRetriable, deadline > .now else { throw error }
                _ = poll(0)
            }
        }
    }
}
