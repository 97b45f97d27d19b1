import Push

@testable import Stores

/// A record of the changelog is refused with a reason, or is the very bytes that its count is written as.
///
/// The first byte of the input is the length of the key, the value is the rest.
final class ChangelogTarget: FuzzTarget {
    static let names = ["changelog"]

    init(_ name: String) {}

    func run(_ bytes: [UInt8]) throws {
        guard let length = bytes.first else { return }
        let key = Array(bytes.dropFirst().prefix(Int(length)))
        try read(key, Array(bytes.dropFirst(1 + key.count)))
        try read(key, nil)
    }

    private func read(_ key: [UInt8], _ value: [UInt8]?) throws {
        var view = ChangelogView()
        var batch = ChangelogBatch()
        let refused = add(key, value, to: &batch)
        do throws(ChangelogRecord.Malformed) {
            try view.apply(key: key, value: value)
        } catch {
            return try promise(refused?.what == error.what && !error.what.isEmpty, "refused for another reason")
        }
        try promise(refused == nil, "refused and applied")
        var written: [(key: [UInt8], value: [UInt8]?)] = []
        try batch.forEach { (_, recipient, app, count) in written.append(Self.written(recipient, app, count)) }
        try promise(written.map(\.key) == [key], "of another account when it is written")
        let value = value == [UInt8(ascii: "0")] ? nil : value
        try promise(written.map(\.value) == [value], "another count when it is written")
        try promise(Self.lines(of: view) == (value == nil ? 0 : 1), "not one line")
    }

    private static func written(_ recipient: RawSpan, _ app: RawSpan, _ count: Int32) -> ([UInt8], [UInt8]?) {
        var (key, value): ([UInt8], [UInt8]) = ([], [])
        ChangelogRecord.appendKey(recipient, app, to: &key)
        return (key, ChangelogRecord.appendValue(count, to: &value) ? value : nil)
    }

    /// Each of them JSON.
    private static func lines(of view: ChangelogView) throws -> Int {
        var text: [UInt8] = []
        let count = view.exportLines { text += $0 }
        let lines = text.split(separator: UInt8(ascii: "\n"))
        for line in lines { _ = try JSONDocument(bytes: Array(line)) }
        try promise(lines.count == count, "\(lines.count) lines for \(count) counts")
        return count
    }

    private func add(_ key: [UInt8], _ value: [UInt8]?, to batch: inout ChangelogBatch) -> RefusedRecord? {
        key.withUnsafeBytes { key in
            func add(_ value: UnsafeRawBufferPointer?) -> RefusedRecord? {
                batch.add(TopicRecord(RecordPosition(partition: 3, offset: 7, timestamp: 9), key: key, value: value))
            }
            return value.map { $0.withUnsafeBytes(add) } ?? add(nil)
        }
    }
}
