import Glibc

/// The record that a notification came in. The caller of `fill` lends its bytes until `own` copies them.
///
/// Unchecked because of its pointers: a record is filled while only one delivery holds it. From the first stage that
/// may suspend it owns its bytes, which do not change until nobody else holds it.
public final class InputRecord: @unchecked Sendable {
    public var source: Source {
        get { lent.source }
        set { lent.source = newValue }
    }
    /// Milliseconds since 1970.
    public var timestamp: Int64 {
        get { lent.timestamp }
        set { lent.timestamp = newValue }
    }
    public var key: UnsafeRawBufferPointer? {
        get { lent.key }
        set { lent.key = newValue }
    }
    public var value: UnsafeRawBufferPointer? {
        get { lent.value }
        set { lent.value = newValue }
    }
    /// The recipient of the notification: the `recipient` header unless it is empty, else the key.
    public var recipient: UnsafeRawBufferPointer? {
        get { lent.recipient }
        set { lent.recipient = newValue }
    }
    @exclusivity(unchecked) public private(set) var headers: [RecordHeader] = []

    /// Read by the chain in another module, where each access to a stored public member would be checked for
    /// exclusivity.
    private struct Lent {
        var source = Source.nowhere
        var timestamp: Int64 = 0
        var key: UnsafeRawBufferPointer?
        var value: UnsafeRawBufferPointer?
        var recipient: UnsafeRawBufferPointer?
    }

    @exclusivity(unchecked) private var lent = Lent()
    /// The position in `headers` of each known header, or -1.
    @exclusivity(unchecked) private var known = InlineArray<14, Int>(repeating: -1)
    private var storage = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var isOwned = false

    package init() {}

    deinit { storage.deallocate() }

    /// Keeps the source, which the next record replaces.
    package func clear() {
        timestamp = 0
        key = nil
        value = nil
        recipient = nil
        if headers.capacity > Self.keptHeaders { headers = [] } else { headers.removeAll(keepingCapacity: true) }
        known = InlineArray(repeating: -1)
        isOwned = false
        guard storage.count > OutputRecord.keptCapacity else { return }
        storage.deallocate()
        storage = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    }

    /// The app whose badge is counted, from `apns-topic`.
    public var app: UnsafeRawBufferPointer? { value(of: .apnsTopic) }

    /// The W3C trace context.
    public var traceparent: UnsafeRawBufferPointer? { value(of: .traceparent) }

    /// In the form of the header `pushmill-source`.
    package func appendSource(to text: inout [UInt8]) {
        text.append(lent.source.topic.prefixBytes, lent.source.partition, lent.source.offset)
    }

    /// Parts of the source, read without retaining it.
    package var topicDigest: UInt64 { lent.source.topic.digest }
    package var partition: Int32 { lent.source.partition }
    package var offset: Int64 { lent.source.offset }

    package func has(_ header: KnownHeader) -> Bool { known[header.rawValue] >= 0 }

    /// Nil also for a header without a value.
    package func value(of header: KnownHeader) -> UnsafeRawBufferPointer? {
        let position = known[header.rawValue]
        return position < 0 ? nil : headers[position].value
    }

    package func value(of name: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        headers.last { $0.name.hasBytes(name) }?.value
    }

    private static var keptHeaders: Int { OutputRecord.keptCapacity / MemoryLayout<RecordHeader>.stride }

    /// True if it has so much memory that `clear` frees some.
    package var isLarge: Bool { storage.count > OutputRecord.keptCapacity || headers.capacity > Self.keptHeaders }

    /// The memory of the headers: mostly their entries if they are many and short.
    package var headerByteCount: Int { headers.count * MemoryLayout<RecordHeader>.stride + headerTextCount }

    private var headerTextCount: Int { headers.reduce(0) { $0 + $1.name.count + ($1.value?.count ?? 0) } }

    /// Copies the bytes, so they stay when the lender takes its own back.
    package func own() {
        guard !isOwned else { return }
        let count = (key?.count ?? 0) + (value?.count ?? 0) + (recipient?.count ?? 0)
        var free = storage(of: count + headerTextCount)
        key = key.map { Self.copy($0, into: &free) }
        value = value.map { Self.copy($0, into: &free) }
        recipient = recipient.map { Self.copy($0, into: &free) }
        for position in headers.indices {
            headers[position].name = Self.copy(headers[position].name, into: &free)
            headers[position].value = headers[position].value.map { Self.copy($0, into: &free) }
        }
    }

    /// Lends the record's bytes; `header` returns each header in turn. Not inlined: in another module, every access to
    /// one of these members would be checked for exclusivity.
    @inline(never)
    public func fill(
        _ source: Source, timestamp: Int64, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers count: Int, header: (Int) -> RecordHeader?
    ) {
        // Most records are of the same topic as the one before, which is then not retained anew.
        if lent.source.topic === source.topic {
            lent.source.partition = source.partition
            lent.source.offset = source.offset
        } else {
            lent.source = source
        }
        self.timestamp = timestamp
        self.key = key
        self.value = value
        let first = headers.count
        var known = known
        headers.append(addingCapacity: count) { headers in
            for index in 0..<count {
                guard let header = header(index) else { return }
                if let name = KnownHeader(header.name) { known[name.rawValue] = first + index }
                headers.append(header)
            }
        }
        self.known = known
        if let named = self.value(of: .recipient), !named.isEmpty { recipient = named } else { recipient = key }
    }

    /// Fills the record with a copy of one that came as a line.
    package func fill(_ envelope: RecordEnvelope, topic: SourceTopic) {
        clear()
        var count = (envelope.key?.count ?? 0) + (envelope.payload?.count ?? 0)
        for header in envelope.headers { count += header.name.count + (header.value?.count ?? 0) }
        var free = storage(of: count)
        func copy(_ bytes: [UInt8]) -> UnsafeRawBufferPointer { bytes.withUnsafeBytes { Self.copy($0, into: &free) } }
        fill(
            Source(topic: topic, partition: envelope.partition, offset: envelope.offset), timestamp: envelope.timestamp,
            key: envelope.key.map(copy), value: envelope.payload.map(copy), headers: envelope.headers.count
        ) { index in
            let header = envelope.headers[index]
            return RecordHeader(name: copy(header.name), value: header.value.map(copy))
        }
    }

    /// Memory for the record's own copy of its bytes.
    private func storage(of count: Int) -> UnsafeMutableRawBufferPointer {
        isOwned = true
        if storage.count < count {
            storage.deallocate()
            storage = .allocate(byteCount: count, alignment: 1)
        }
        return storage
    }

    private static func copy(
        _ bytes: UnsafeRawBufferPointer, into free: inout UnsafeMutableRawBufferPointer
    ) -> UnsafeRawBufferPointer {
        let copy = UnsafeMutableRawBufferPointer(rebasing: free[..<bytes.count])
        copy.copyMemory(from: bytes)
        free = UnsafeMutableRawBufferPointer(rebasing: free[bytes.count...])
        return UnsafeRawBufferPointer(copy)
    }
}

/// An input topic, made once and shared by all of its records.
public final class SourceTopic: Sendable {
    public let name: String
    /// Distinguishes topics in derived identifiers; the same in every process.
    package let digest: UInt64
    /// The name and a slash, in memory of its own: an array would be retained for each message.
    nonisolated(unsafe) let prefixBytes: UnsafeRawBufferPointer

    deinit { prefixBytes.deallocate() }

    public init(_ name: String) {
        self.name = name
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: name.utf8.count + 1, alignment: 1)
        memory.copyBytes(from: "\(name)/".utf8)
        prefixBytes = UnsafeRawBufferPointer(memory)
        // FNV-1a.
        digest = name.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

/// The position of a record in the input.
public struct Source: Sendable {
    public let topic: SourceTopic
    public internal(set) var partition: Int32
    public internal(set) var offset: Int64

    public init(topic: SourceTopic, partition: Int32, offset: Int64) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
    }

    static let nowhere = Source(topic: SourceTopic(""), partition: 0, offset: 0)
}

extension Source: CustomStringConvertible {
    /// In the form of the header `pushmill-source`.
    public var description: String { "\(topic.name)/\(partition)/\(offset)" }
}

/// One header of a record. It may have no value. If a record repeats a name, the last one counts.
public struct RecordHeader {
    public var name: UnsafeRawBufferPointer
    public var value: UnsafeRawBufferPointer?

    public init(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
        self.name = name
        self.value = value
    }
}
