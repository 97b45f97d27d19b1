package import PushmillKafka
package import PushmillPayload

/// Sends dead letters back to the input topics that they came from.
package struct Redrive: Sendable {
    /// Empty means any.
    package var reasons: Set<String> = []
    package var keys: Set<[UInt8]> = []
    /// In milliseconds since 1970; a letter has its record's timestamp.
    package var since = Int64.min
    package var until: Int64?
    /// A letter that has been sent back this often stays.
    package var maximalAttempts: Int64 = 3
    /// Only reports what would be done.
    package var isDry = true
    /// Once `isOver`, how many tenths of a second `run` waits for the next answer.
    var patience = 100

    package init() {}

    /// What becomes of a letter.
    package enum Fate: String, Sendable, CaseIterable {
        case sent
        /// Sent back before, by this journal.
        case done = "already sent"
        /// What was mended does not help it.
        case exhausted = "attempted too often"
        /// From a topic that is no input.
        case foreign = "from another topic"
        /// Only its name is left; the record itself stands in the input topic.
        case empty = "without its record"
        case unreadable = "not dead letters of Pushmill"
        /// At least once a record may have become a letter twice.
        case repeated = "duplicate"
        /// For good: it would be refused again.
        case refused = "refused by the brokers"
    }

    package typealias Tally = [Fate: Int]

    /// Calls `report` with the fate of each selected letter. A letter that is sent is reported once the brokers have
    /// acknowledged it. The journal lasts over runs and records what was sent; after an interruption the next run first
    /// looks in the input for what was being sent. Once `isOver`, it records what is acknowledged and sends no more.
    /// Calls `end` with the number of letters by fate, also if it throws once it has begun. Reads the input as a
    /// `consumer`.
    @discardableResult
    package func run(
        _ source: any RecordSource, to inputs: [String], journal path: String, _ producer: ClientProperties,
        _ consumer: ClientProperties, isOver: () -> Bool = { false },
        report: (DeadLetter, Fate) -> Void = { _, _ in }, end: (Tally) -> Void = { _ in }
    ) async throws(ReplayError) -> Tally {
        let journal = try RedriveJournal(path: path, isDry: isDry)
        let logs = try InputLogs(consumer)
        var tally: Tally = [:]
        var known: Set<String> = []
        let sender = isDry ? nil : try RecordSender(producer)
        defer { end(tally) }
        if let left = journal.left {
            let positions = left.ends.filter { inputs.contains($0.partition.topic) }
            guard let stored = try logs.stored(since: positions, isEnding: isOver) else { return tally }
            try journal.resolve(stored)
        }
        while true {
            let records = isOver() ? [] : try await source.next(500)
            if records.isEmpty {
                // Thrown only now: a letter that is refused must not hold up others.
                try sender?.check()
                return tally
            }
            let fates = fates(of: records, inputs, journal, &known, &tally)
            let meant = fates.filter { $0.fate == .sent }.map(\.letter)
            var answers: ArraySlice<RecordSender.Answer> = []
            var failure: ReplayError?
            if let sender, !meant.isEmpty {
                try journal.begin(meant, ends: logs.ends(of: Set(meant.map(\.place.topic))))
                do throws(ReplayError) {
                    for letter in meant where !isOver() {
                        try sender.send(
                            letter.restored, as: letter.record.place, patience: isOver() ? patience : .max)
                    }
                } catch {
                    failure = error
                }
                answers = sender.settle(patience: isOver() ? patience : .max)[...]
                for (letter, answer) in zip(meant, answers) where answer == .acknowledged {
                    journal.add(letter.record)
                }
                do throws(ReplayError) {
                    try journal.flush()
                    if !answers.contains(.unknown) { journal.settle() }
                } catch {
                    failure = error
                }
            }
            for (letter, meant) in fates {
                let answer = meant == .sent && !isDry ? answers.popFirst() ?? .unknown : nil
                if answer == .unknown { continue }
                let fate = answer == .refused ? Fate.refused : meant
                tally[fate, default: 0] += 1
                report(letter, fate)
            }
            // Thrown only now: everything that was sent before the failure has been recorded, if that was possible.
            if let failure { throw failure }
            if let sender, !sender.isUsable { try sender.check() }
        }
    }

    /// Of the letters that are selected. `known` are the records that are being sent back, or were before.
    private func fates(
        of records: [RecordEnvelope], _ inputs: [String], _ journal: RedriveJournal, _ known: inout Set<String>,
        _ tally: inout Tally
    ) -> [(letter: DeadLetter, fate: Fate)] {
        var fates: [(letter: DeadLetter, fate: Fate)] = []
        for record in records {
            guard let letter = DeadLetter(record) else {
                tally[.unreadable, default: 0] += 1
                continue
            }
            // No other letter of its record is sent either, even if the reason of this one is not selected now.
            let isDone = journal.contains(record)
            if isDone { known.insert(letter.origin) }
            guard isMeant(letter) else { continue }
            fates.append((letter, isDone ? .done : fate(of: letter, inputs, &known)))
        }
        return fates
    }

    private func isMeant(_ letter: DeadLetter) -> Bool {
        (reasons.isEmpty || reasons.contains(letter.reason))
            && (keys.isEmpty || keys.contains(letter.record.key ?? []))
            && letter.record.timestamp >= since && until.map { letter.record.timestamp < $0 } ?? true
    }

    private func fate(of letter: DeadLetter, _ inputs: [String], _ known: inout Set<String>) -> Fate {
        if !inputs.contains(letter.place.topic) { return .foreign }
        if letter.isWithoutRecord { return .empty }
        if letter.attempt > maximalAttempts { return .exhausted }
        return known.insert(letter.origin).inserted ? .sent : .repeated
    }
}

/// A record that could not become a notification, as stored in the topic of dead letters.
package struct DeadLetter: Sendable {
    private static let errors = Array("pushmill.error.".utf8)
    private static let added: [StaticString] = [
        "pushmill-outcome", "pushmill-source", "pushmill-stages", "pushmill-attempt",
    ]

    package let record: RecordEnvelope
    package let reason: String
    /// How often it has been a dead letter, this time included.
    package let attempt: Int64
    /// The input partition that it came from.
    package let place: TopicPartition
    private let offset: Int64

    /// Nil if the record is not a dead letter of this service.
    package init?(_ record: RecordEnvelope) {
        guard let reason = record.text("pushmill.error.reason"), let topic = record.text("pushmill.error.topic"),
            let partition = record.text("pushmill.error.partition").flatMap({ Int32($0) }), partition >= 0,
            let offset = record.text("pushmill.error.offset").flatMap({ Int64($0) }),
            let attempt = record.text("pushmill.error.attempt").flatMap({ Int64($0) }), attempt > 0
        else { return nil }
        self.record = record
        self.reason = reason
        self.attempt = attempt
        place = TopicPartition(topic, partition)
        self.offset = offset
    }

    /// Identifies a record and its attempt. A recreated topic has other records at the same places.
    var origin: String {
        var hasher = Hasher()
        hasher.combine(record.key)
        hasher.combine(record.payload)
        return "\(place)/\(offset) \(attempt) \(record.timestamp) \(hasher.finalize())"
    }

    /// The record was too large for the brokers even as a letter, so the letter only names it.
    package var isWithoutRecord: Bool { record.payload == nil && reason != "null-value" }

    /// The record as it was, with the number of the attempt. A header that marks its badge as counted stays.
    package var restored: RecordEnvelope {
        var restored = record
        (restored.topic, restored.partition) = (place.topic, place.partition)
        restored.headers.removeAll { header in
            header.name.starts(with: Self.errors) || Self.added.contains(where: header.isNamed)
        }
        restored.headers.append(
            RecordEnvelope.Header(name: Array("pushmill-attempt".utf8), value: Array("\(attempt)".utf8)))
        return restored
    }
}
