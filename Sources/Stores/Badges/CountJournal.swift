/// Counts as a checkpoint appends them to the journal: recipient, app (each with its length) and count, as LEB128 where
/// they are numbers.
enum CountJournal {
    static func encode(_ counts: borrowing CountBatch, into bytes: inout [UInt8]) {
        bytes.removeAll(keepingCapacity: true)
        for (account, state) in counts.counts {
            account.key.withParts { recipient, app in
                append(recipient, to: &bytes)
                append(app, to: &bytes)
            }
            append(UInt32(bitPattern: state.count), to: &bytes)
        }
    }

    /// False if the bytes are not what `encode` writes; `body` may have had some of them by then.
    static func decode<E: Error>(
        _ bytes: UnsafeRawBufferPointer,
        _ body: (_ recipient: RawSpan, _ app: RawSpan, _ count: Int32) throws(E) -> Void
    ) throws(E) -> Bool {
        let whole = bytes.bytes
        var at = 0
        while at < bytes.count {
            guard let recipient = text(bytes, &at), let app = text(bytes, &at), let number = number(bytes, &at),
                let count = Int32(exactly: number)
            else { return false }
            try body(whole.extracting(recipient), whole.extracting(app), count)
        }
        return true
    }

    private static func append(_ text: RawSpan, to bytes: inout [UInt8]) {
        append(UInt32(truncatingIfNeeded: text.byteCount), to: &bytes)
        text.withUnsafeBytes { bytes.append(contentsOf: $0) }
    }

    private static func append(_ number: UInt32, to bytes: inout [UInt8]) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    private static func text(_ bytes: UnsafeRawBufferPointer, _ at: inout Int) -> Range<Int>? {
        guard let count = number(bytes, &at), Int(count) <= bytes.count - at else { return nil }
        defer { at += Int(count) }
        return at..<at + Int(count)
    }

    private static func number(_ bytes: UnsafeRawBufferPointer, _ at: inout Int) -> UInt32? {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 28, by: 7) {
            guard at < bytes.count else { return nil }
            let byte = bytes[at]
            at += 1
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return UInt32(exactly: number) }
        }
        return nil
    }
}
