import PushmillPayload

/// A line is refused, or its record can be written as a line and reads back the same.
final class EnvelopeTarget: FuzzTarget {
    static let names = ["envelope"]

    private var line: [UInt8] = []

    init(_ name: String) {}

    func run(_ bytes: [UInt8]) throws {
        let envelope: RecordEnvelope
        do throws(EnvelopeError) {
            envelope = try RecordEnvelope(line: bytes)
        } catch {
            return try promise(!"\(error)".isEmpty, "refused without a reason")
        }
        line.removeAll(keepingCapacity: true)
        envelope.append(to: &line)
        try promise(line.firstIndex(of: UInt8(ascii: "\n")) == line.count - 1, "written as more than one line")
        try promise(try RecordEnvelope(line: line) == envelope, "another record after writing")
    }
}
