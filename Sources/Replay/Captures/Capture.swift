import PushmillStages

/// A topic into lines.
package struct Capture {
    package struct Settings: Sendable {
        /// Goes on when what there was has been read.
        package var follows = false
        package var limit = Int.max
        package var redaction: Redaction?

        package init() {}
    }

    private let source: TopicRecords
    private let settings: Settings

    package init(_ source: TopicRecords, _ settings: Settings) {
        self.source = source
        self.settings = settings
    }

    /// Gives `write` the lines of a batch, until the range, the limit or `isOver` ends it. `progress` gets the number of
    /// records so far. Returns how many there were.
    package func run(
        write: ([UInt8]) throws(ReplayError) -> Void, isOver: () -> Bool, progress: (Int) -> Void
    ) async throws(ReplayError) -> Int {
        var count = 0
        while count < settings.limit, !isOver() {
            let records = try await source.next(min(1000, settings.limit - count))
            if records.isEmpty { break }
            try write(lines(records))
            count += records.count
            progress(count)
        }
        while settings.follows, count < settings.limit, !isOver() {
            let records = try source.follow(milliseconds: 200).prefix(settings.limit - count)
            guard !records.isEmpty else { continue }
            try write(lines(records))
            count += records.count
            progress(count)
        }
        return count
    }

    private func lines(_ records: some Sequence<RecordEnvelope>) -> [UInt8] {
        var lines: [UInt8] = []
        for record in records {
            (settings.redaction?.redacted(record) ?? record).append(to: &lines)
        }
        return lines
    }
}
