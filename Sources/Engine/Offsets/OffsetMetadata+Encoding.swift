import PushmillPayload

extension OffsetMetadata {
    /// The text, and how many completed offsets it leaves out: those that do not fit are cut from the far end.
    package func encoded(
        limit: Int = OffsetMetadata.limit, version: FormatVersion = .current
    ) -> (text: String, leftOut: Int) {
        precondition(limit >= 64, "no room for an offset")
        var body = ByteWriter()
        body.write(varint: UInt64(base))
        let total = completed.reduce(0) { $0 + $1.count }
        var kept = 0
        if total > 0 {
            let head = version == .next ? Self.partHead : 0
            let room = limit * 3 / 4 - 3 - Self.checksumSize - body.bytes.count - 1 - head
            let (bitmap, runs) = (bitmap(in: room), runs(in: room))
            let plan = (bitmap.kept, runs.size) > (runs.kept, bitmap.size) ? bitmap : runs
            kept = plan.kept
            if kept > 0 {
                var part = ByteWriter()
                part.bytes.append(plan.form.rawValue)
                plan.write(&part)
                if version == .next {
                    body.write(varint: Self.completedPart)
                    body.write(varint: UInt64(part.bytes.count))
                }
                body.bytes += part.bytes
            }
        }
        let checksum = Self.checksum(of: body.bytes)
        let sum = (0..<Self.checksumSize).map { UInt8(truncatingIfNeeded: checksum >> UInt32(8 * $0)) }
        return ("\(Self.mark)\(version.rawValue)" + Base64.urlText(sum + body.bytes), total - kept)
    }

    /// No set with this many holes within this many offsets takes more characters.
    static func sizeBound(span: Int, holes: Int) -> Int {
        let bitmap = span / 8 + 1
        // At worst each hole stands alone. The code of a run, in the order of the mean, takes at most order + 4 bits on
        // average (runs of 1 and 3 times 2^order in turn), and the code of the hole before it one bit.
        let order = Int.bitWidth - max(1, span / max(1, holes)).leadingZeroBitCount - 1
        let runs = (holes.multipliedReportingOverflow(by: order + 5).partialValue + 7) / 8 + 16
        return (min(bitmap, runs) + 3 + checksumSize + 9 + 1 + partHead) * 4 / 3 + 1
    }
}

/// How completed offsets would be written in one form.
private struct Plan {
    let form: OffsetMetadata.Form
    /// Bytes.
    let size: Int
    /// Completed offsets that it holds.
    let kept: Int
    let write: (inout ByteWriter) -> Void
}

extension OffsetMetadata {
    /// One bit per offset, from base + 1 on.
    private func bitmap(in room: Int) -> Plan {
        let end = base + 1 + Int64(room) * 8
        let fitting = completed.prefix { $0.lowerBound < end }.map { $0.lowerBound..<min($0.upperBound, end) }
        let size = fitting.last.map { Int($0.upperBound - base - 1 + 7) / 8 } ?? 0
        return Plan(form: .bitmap, size: size, kept: fitting.reduce(0) { $0 + $1.count }) { body in
            var bits = [UInt8](repeating: 0, count: size)
            for offset in fitting.joined() {
                let index = Int(offset - base - 1)
                bits[index >> 3] |= 1 << UInt8(index & 7)
            }
            body.bytes += bits
        }
    }

    /// Pairs of run lengths: offsets not done, then offsets done.
    private func runs(in room: Int) -> Plan {
        var pairs: [(missing: UInt64, done: UInt64)] = []
        pairs.reserveCapacity(completed.count)
        var at = base
        // A run has at least one offset, so its length minus one is written.
        for range in completed {
            pairs.append((UInt64(range.lowerBound - at - 1), UInt64(range.count - 1)))
            at = range.upperBound
        }
        let missingOrder = Self.order(of: pairs.reduce(0) { $0 + $1.missing }, count: pairs.count)
        let doneOrder = Self.order(of: pairs.reduce(0) { $0 + $1.done }, count: pairs.count)
        let head = 2 + ByteWriter.size(ofVarint: UInt64(pairs.count))
        var (bits, count, kept) = (0, 0, 0)
        for pair in pairs {
            let more =
                ByteWriter.size(ofExpGolomb: pair.missing, order: missingOrder)
                + ByteWriter.size(ofExpGolomb: pair.done, order: doneOrder)
            guard bits + more <= (room - head) * 8 else { break }
            (bits, count, kept) = (bits + more, count + 1, kept + Int(pair.done) + 1)
        }
        let fitting = pairs[..<count]
        return Plan(form: .runs, size: head + (bits + 7) / 8, kept: kept) { body in
            body.bytes += [UInt8(missingOrder), UInt8(doneOrder)]
            body.write(varint: UInt64(fitting.count))
            for pair in fitting {
                body.write(expGolomb: pair.missing, order: missingOrder)
                body.write(expGolomb: pair.done, order: doneOrder)
            }
            body.endBits()
        }
    }

    /// The code is shortest if its order is the logarithm of the mean.
    private static func order(of sum: UInt64, count: Int) -> Int {
        let mean = sum / UInt64(max(1, count))
        return min(largestOrder, max(0, UInt64.bitWidth - mean.leadingZeroBitCount - 1))
    }
}
