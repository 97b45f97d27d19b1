import Glibc
import PushmillKafka
package import PushmillPayload

/// Writes the records of a topic as lines.
package struct Capture: Sendable {
    /// Continues with new records after those that were there.
    package var follows = false
    package var limit = Int.max
    package var redaction: Redaction?

    package init() {}

    /// Calls `write` with the lines of each batch, until the range, the limit or `isOver` ends it. `progress` gets the
    /// number of records so far. Returns the number of records.
    package func run(
        _ source: TopicRecords, write: ([UInt8]) throws(ReplayError) -> Void, isOver: () -> Bool,
        progress: (Int) -> Void
    ) throws(ReplayError) -> Int {
        var count = 0
        var isFollowing = false
        while count < limit, !isOver() {
            let room = limit - count
            let records =
                isFollowing ? try source.follow(milliseconds: 200) : try source.next(min(1000, room), isEnding: isOver)
            if records.isEmpty {
                guard follows else { break }
                isFollowing = true
                continue
            }
            var lines: [UInt8] = []
            for record in records.prefix(room) { (redaction?.redacted(record) ?? record).append(to: &lines) }
            try write(lines)
            count += min(records.count, room)
            progress(count)
        }
        return count
    }
}

/// A capture as a source: lines as written by `capture` and `kcat -J`.
package final class CaptureFile: RecordSource {
    package let name: String
    private var lines: CaptureLines
    private let parallelism: Int
    private let isOrdered: Bool
    private var last: [TopicPartition: Int64] = [:]
    /// The lines of the records that were returned last.
    private var numbers: [Int] = []

    /// `isOrdered`: the offsets of a partition must ascend, which reveals two captures put together by mistake, or a
    /// record that occurs twice.
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
        // Parsed in as many parts as threads may run.
        let size = max(64, (chunk.count + parallelism - 1) / parallelism)
        let parts = stride(from: 0, to: chunk.count, by: size).map { chunk[$0..<min($0 + size, chunk.count)] }
        let records = try await concurrently(parts) { [name] lines throws(ReplayError) in
            try lines.map { line throws(ReplayError) in try Self.record(line, of: name) }
        }.flatMap(\.self)
        if isOrdered {
            for (index, record) in records.enumerated() { try check(record, index) }
        }
        return records
    }

    private static func record(_ line: CaptureLines.Line, of name: String) throws(ReplayError) -> RecordEnvelope {
        do throws(EnvelopeError) {
            return try RecordEnvelope(line: line.bytes)
        } catch {
            throw .unreadable(name: name, line: line.number, what: "\(error)")
        }
    }

    package func failure(at index: Int, _ what: String) -> ReplayError {
        .unreadable(name: name, line: numbers[index], what: what)
    }

    private func check(_ record: RecordEnvelope, _ index: Int) throws(ReplayError) {
        let partition = TopicPartition(record.topic, record.partition)
        if let before = last.updateValue(record.offset, forKey: partition), before >= record.offset {
            throw failure(
                at: index,
                "\(record.place) comes after \(partition)/\(before): a capture holds each record once, and each "
                    + "partition's records in order")
        }
    }
}

extension CaptureFile {
    /// Whether replacing the file loses no more than a capture: it is one, or empty, missing, a device or a pipe.
    package static func isReplaceable(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else { return true }
        guard var lines = try? CaptureLines(path: path), let line = try? lines.next() else { return false }
        return (try? RecordEnvelope(line: line.bytes)) != nil
    }
}

/// Returns the results of `body` in the order of the items. Each item has a task of its own.
func concurrently<Item: Sendable, Value: Sendable>(
    _ items: [Item], _ body: @escaping @Sendable (Item) async throws(ReplayError) -> Value
) async throws(ReplayError) -> [Value] {
    let results = await withTaskGroup(of: (Int, Result<Value, ReplayError>).self) { group in
        for (index, item) in items.enumerated() {
            group.addTask {
                do throws(ReplayError) { return (index, .success(try await body(item))) } catch {
                    return (index, .failure(error))
                }
            }
        }
        return await group.reduce(into: []) { $0.append($1) }
    }
    var values: [Value] = []
    for (_, result) in results.sorted(by: { $0.0 < $1.0 }) { values.append(try result.get()) }
    return values
}
