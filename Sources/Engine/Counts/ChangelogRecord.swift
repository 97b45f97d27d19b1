import PushmillPayload
import PushmillStages
package import PushmillStores

/// The encoding of a count in the changelog.
///
/// The key is the recipient's length (32 bits, big-endian), the recipient and the app. The value is, in decimal, the
/// count, the source offset of the last event counted and, unless it is 0, the incarnation of that log: `3 120045`,
/// `3 120045 1`. A count alone belongs to an unknown event, and so does a tombstone, which is a count of 0. The accounts
/// of nobody, with an empty recipient, identify the log (`Shard+NewLogs`).
///
/// In version 2 a mark precedes the value, and named parts may follow it, which a reader skips if it does not know
/// them: `v2 3 120045 1 name=value`. A release must not need a part that the release before it would drop. Later
/// versions have their own marks. The key has no version because compaction compares its bytes.
package enum ChangelogRecord {
    private static let mark = UInt8(ascii: "v")
    private static let prefix = MemoryLayout<UInt32>.size

    /// Why a record is not a count of ours.
    package enum Malformed: Error, Equatable {
        case noKey
        /// The key ends before the recipient does.
        case shortKey
        case notACount
        case notAnOffset
        case notAnIncarnation
        /// Ours, but of a version that this release does not know: its count is unknown too.
        case version(Int)

        package var reason: String {
            switch self {
            case .noKey: "no key"
            case .shortKey: "the key is too short for its recipient"
            case .notACount: "the value does not begin with a count"
            case .notAnOffset: "the value's second part is not an offset"
            case .notAnIncarnation: "the value's third part is not an incarnation"
            case .version(let version): "the value has version \(version), which this release does not know"
            }
        }
    }

    /// Replaces the bytes with the key.
    package static func encodeKey(
        _ recipient: UnsafeRawBufferPointer, _ app: UnsafeRawBufferPointer, into bytes: inout [UInt8]
    ) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(upTo: keyCount(recipient, app)) { writeKey(recipient, app, to: UnsafeMutableRawPointer($0)) }
    }

    static func keyCount(_ recipient: UnsafeRawBufferPointer, _ app: UnsafeRawBufferPointer) -> Int {
        prefix + recipient.count + app.count
    }

    /// Returns the number of bytes, which is `keyCount`.
    static func writeKey(
        _ recipient: UnsafeRawBufferPointer, _ app: UnsafeRawBufferPointer, to key: UnsafeMutableRawPointer
    ) -> Int {
        key.storeBytes(of: UInt32(truncatingIfNeeded: recipient.count).bigEndian, as: UInt32.self)
        if let name = recipient.baseAddress { (key + prefix).copyMemory(from: name, byteCount: recipient.count) }
        if let name = app.baseAddress { (key + prefix + recipient.count).copyMemory(from: name, byteCount: app.count) }
        return keyCount(recipient, app)
    }

    /// Both results point into the key.
    package static func account(
        _ key: UnsafeRawBufferPointer?
    ) throws(Malformed) -> (recipient: UnsafeRawBufferPointer, app: UnsafeRawBufferPointer) {
        guard let key else { throw .noKey }
        guard key.count >= prefix else { throw .shortKey }
        let length = Int(UInt32(bigEndian: key.loadUnaligned(as: UInt32.self)))
        guard length <= key.count - prefix else { throw .shortKey }
        let rest = UnsafeRawBufferPointer(rebasing: key[prefix...])
        return (
            UnsafeRawBufferPointer(rebasing: rest[..<length]), UnsafeRawBufferPointer(rebasing: rest[length...])
        )
    }

    /// Replaces the bytes with the value. A count below 0 is written as 0.
    package static func encode(
        _ state: CountState, version: FormatVersion = .current, into bytes: inout [UInt8]
    ) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(upTo: capacity) { write(state, version, to: $0) }
    }

    /// The most bytes of a value.
    static var capacity: Int { 4 * (DecimalText.capacity + 1) + 1 }

    /// Returns the number of bytes.
    static func write(_ state: CountState, _ version: FormatVersion, to start: UnsafeMutablePointer<UInt8>) -> Int {
        var end = start
        func append(_ byte: UInt8) {
            end.pointee = byte
            end += 1
        }
        func append(_ number: Int64) { end += DecimalText.write(number, to: end) }
        if version == .next {
            append(mark)
            append(Int64(version.rawValue))
            append(space)
        }
        append(Int64(max(0, state.count)))
        if state.offset < 0, state.incarnation == 0 { return end - start }
        append(space)
        // An unknown event of a known log.
        append(max(-1, state.offset))
        guard state.incarnation > 0 else { return end - start }
        append(space)
        append(Int64(state.incarnation))
        return end - start
    }

    /// Values beyond the limits of `CountState` are malformed, and so is any other spelling of the same state.
    package static func state(_ value: UnsafeRawBufferPointer?) throws(Malformed) -> CountState {
        guard let value else { return CountState(count: 0) }
        var rest = try value.first == mark ? content(of: value) : value[...]
        guard let count = number(&rest, through: UInt64(Int32.max)) else { throw .notACount }
        var state = CountState(count: Int32(truncatingIfNeeded: count))
        if rest.isEmpty { return state }
        guard rest.popFirst() == space else { throw .notACount }
        if rest.starts(with: "-1 ".utf8) {
            rest = rest.dropFirst(2)
        } else if let offset = number(&rest, through: UInt64(CountState.highestOffset)) {
            state.offset = Int64(offset)
        } else {
            throw .notAnOffset
        }
        if rest.isEmpty { return state }
        guard rest.popFirst() == space else { throw .notAnOffset }
        guard let incarnation = number(&rest, through: UInt64(CountState.highestIncarnation)), incarnation > 0,
            rest.isEmpty
        else { throw .notAnIncarnation }
        state.incarnation = UInt32(incarnation)
        return state
    }

    /// The bytes between the mark and the first named part.
    private static func content(
        of value: UnsafeRawBufferPointer
    ) throws(Malformed) -> Slice<UnsafeRawBufferPointer> {
        var parts = value.dropFirst()
        guard let version = number(&parts, through: UInt64(Int32.max)), version > FormatVersion.current.rawValue
        else { throw .notACount }
        guard version <= FormatVersion.next.rawValue else { throw .version(Int(version)) }
        guard parts.popFirst() == space else { throw .notACount }
        guard let name = parts.firstIndex(of: UInt8(ascii: "=")) else { return parts }
        guard let end = parts[..<name].lastIndex(of: space) else { throw .notACount }
        return parts[..<end]
    }

    private static var space: UInt8 { UInt8(ascii: " ") }
    private static var zero: UInt8 { UInt8(ascii: "0") }

    /// Removes a number from the front. Nil if there is none, if it is greater than `most`, or if it has leading zeros.
    private static func number(_ rest: inout Slice<UnsafeRawBufferPointer>, through most: UInt64) -> UInt64? {
        let digits = rest.prefix { $0 &- zero <= 9 }
        guard let number = DecimalText.read(digits), number <= most, digits.count == 1 || digits.first != zero
        else { return nil }
        rest = rest[digits.endIndex...]
        return number
    }
}

/// The counts in the records of one changelog partition, in memory, for commands that show or correct them.
package struct ChangelogView {
    /// By the records' keys.
    private var states: [[UInt8]: CountState] = [:]

    package init() {}

    package var isEmpty: Bool { states.isEmpty }

    /// The record of an account's later event wins; of two records of the same event, the last.
    package mutating func apply(key: [UInt8]?, value: [UInt8]?) throws(ChangelogRecord.Malformed) {
        guard let key else { throw .noKey }
        let state = try Self.state(key, value)
        if let known = states[key], state < known { return }
        states[key] = state
    }

    private static func state(_ key: [UInt8], _ value: [UInt8]?) throws(ChangelogRecord.Malformed) -> CountState {
        _ = try key.span.bytes.withUnsafeBytes { (key) throws(ChangelogRecord.Malformed) in
            try ChangelogRecord.account(key).recipient.count
        }
        guard let value else { return CountState(count: 0) }
        return try value.span.bytes.withUnsafeBytes { (value) throws(ChangelogRecord.Malformed) in
            try ChangelogRecord.state(value)
        }
    }

    /// The account's state; a count of 0 of an unknown event if there is none.
    package func state(ofKey key: [UInt8]) -> CountState { states[key] ?? CountState(count: 0) }

    /// The keys that `isMeant` accepts, of all counts or of one recipient's: by default those above 0; never nobody's.
    package func keys(of recipient: [UInt8]?, _ isMeant: (CountState) -> Bool = { $0.count > 0 }) -> [[UInt8]] {
        states.filter { isMeant($0.value) }.keys.filter { key in
            key.withUnsafeBytes { key in
                guard let account = try? ChangelogRecord.account(key), !account.recipient.isEmpty else { return false }
                return recipient.map { account.recipient.elementsEqual($0) } ?? true
            }
        }
    }

    /// Exports every count above 0, or one recipient's, as JSON Lines. Returns their number.
    package func exportLines(recipient: [UInt8]? = nil, _ body: ([UInt8]) -> Void) -> Int {
        var lines = LineBatch()
        for key in keys(of: recipient).sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            key.withUnsafeBytes { bytes in
                guard let account = try? ChangelogRecord.account(bytes), let state = states[key] else { return }
                lines.add(handOver: body) { line in
                    line.append(account.recipient, as: "recipient")
                    line.append(account.app, as: "app")
                    line.append(state.count, as: "count")
                }
            }
        }
        return lines.finish(handOver: body)
    }
}
