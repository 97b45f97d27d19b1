package import PushmillPayload

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
        var isFollowing = false
        while count < settings.limit, !isOver() {
            let room = settings.limit - count
            let records =
                isFollowing ? try source.follow(milliseconds: 200) : try await source.next(min(1000, room))
            if records.isEmpty {
                guard settings.follows else { break }
                isFollowing = true
                continue
            }
            try write(lines(records.prefix(room)))
            count += min(records.count, room)
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

/// A capture as a source: lines as `capture` and `kcat -J` write them.
package final class CaptureFile: RecordSource {
    package let name: String
    private var lines: CaptureLines
    private let parallelism: Int
    private let isOrdered: Bool
    private var last: [String: [Int32: Int64]] = [:]
    /// The lines of the records that were given last.
    private var numbers: [Int] = []

    /// `isOrdered`: the offsets of a partition have to ascend, so that two captures put together by mistake, or a record
    /// that stands there twice, are found.
    package init(path: String, isOrdered: Bool, parallelism: Int) throws(ReplayError) {
        name = path
        lines = try CaptureLines(path: path)
        self.isOrdered = isOrdered
        self.parallelism = parallelism
    }

    package func next(_ limit: Int) async throws(ReplayError) -> [RecordEnvelope] {
        var chunk: [CaptureLines.Line] = []
        while chunk.count < limit, let line = try lines.next() { chunk.append(line) }
        numbers = chunk.map(\.number)
        let records = try await EnvelopeParsing.parse(chunk, of: name, parallelism: parallelism)
        if isOrdered {
            for (index, record) in records.enumerated() { try check(record, index) }
        }
        return records
    }

    package func failure(at index: Int, _ what: String) -> ReplayError {
        .unreadable(name: name, line: numbers[index], what: what)
    }

    private func check(_ record: RecordEnvelope, _ index: Int) throws(ReplayError) {
        if let before = last[record.topic]?[record.partition], before >= record.offset {
            let place = "\(record.topic)/\(record.partition)"
            throw failure(
                at: index,
                "\(place)/\(record.offset) comes after \(place)/\(before): a capture holds each record once, and those of "
                    + "a partition in order")
        }
        last[record.topic, default: [:]][record.partition] = record.offset
    }
}

/// Lines to envelopes, on as many threads as there are.
enum EnvelopeParsing {
    private typealias Part = Result<[RecordEnvelope], ReplayError>

    static func parse(
        _ lines: [CaptureLines.Line], of name: String, parallelism: Int
    ) async throws(ReplayError) -> [RecordEnvelope] {
        let size = max(64, (lines.count + parallelism - 1) / parallelism)
        let starts = Array(stride(from: 0, to: lines.count, by: size))
        let parts = await withTaskGroup(of: (Int, Part).self) { group in
            for (index, start) in starts.enumerated() {
                let slice = lines[start..<min(start + size, lines.count)]
                group.addTask { (index, Self.parse(slice, of: name)) }
            }
            var parts = [Part](repeating: .success([]), count: starts.count)
            for await (index, part) in group { parts[index] = part }
            return parts
        }
        var records: [RecordEnvelope] = []
        records.reserveCapacity(lines.count)
        for part in parts { records += try part.get() }
        return records
    }

    private static func parse(_ lines: ArraySlice<CaptureLines.Line>, of name: String) -> Part {
        var records: [RecordEnvelope] = []
        records.reserveCapacity(lines.count)
        for line in lines {
            do throws(EnvelopeError) {
                records.append(try RecordEnvelope(line: line.bytes))
            } catch {
                return .failure(.unreadable(name: name, line: line.number, what: "\(error)"))
            }
        }
        return .success(records)
    }
}
