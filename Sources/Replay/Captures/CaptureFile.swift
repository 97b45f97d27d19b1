package import Push

/// A capture as a source: lines as `capture` and `kcat -J` write them.
package final class CaptureFile: RecordSource {
    package let name: String
    private var lines: CaptureLines
    private let parallelism: Int
    private let isOrdered: Bool
    private var last: [String: [Int32: Int64]] = [:]

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
        let records = try await EnvelopeParsing.parse(chunk, of: name, parallelism: parallelism)
        if isOrdered {
            for (record, line) in zip(records, chunk) { try check(record, line.number) }
        }
        return records
    }

    private func check(_ record: RecordEnvelope, _ line: Int) throws(ReplayError) {
        if let before = last[record.topic]?[record.partition], before >= record.offset {
            let place = "\(record.topic)/\(record.partition)"
            throw .unreadable(
                name: name, line: line,
                what: "\(place)/\(record.offset) comes after \(place)/\(before): a capture holds each record once, and "
                    + "those of a partition in order")
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
