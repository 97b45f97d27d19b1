/// What a stage knows of the message beside its content. An immediate stage keeps nothing of it beyond its call.
public struct StageContext: Sendable {
    /// When the message leaves at the latest.
    public let deadline: Instant
    /// When a stage that may suspend loses the message: at the end of its budget, or at the deadline if that is earlier.
    public internal(set) var limit: Instant
    /// Milliseconds since 1970: the clock in a service, the record's own timestamp in a replay.
    public let wallClock: Int64
    /// The recipient's count in the app before this message, if a stage of the chain counts and there is a recipient.
    public let count: Int32?
    let record: InputRecord
    let chain: Chain
    var stage = 0
    var isCounted = false

    /// Where the record stands in the input.
    public var source: Source { record.source }

    /// Who is notified: the header `recipient`, else the key.
    public var recipient: String? { Self.string(record.recipient) }

    /// The recipient's bytes, good for as long as the context is.
    public var recipientBytes: UnsafeRawBufferPointer? { record.recipient }

    /// The record's key, good for as long as the context is.
    public var keyBytes: UnsafeRawBufferPointer? { record.key }

    /// The header `locale`.
    public var locale: String? { Self.string(localeBytes) }

    public var localeBytes: UnsafeRawBufferPointer? { record.value(of: .locale) }

    /// True where the count has this message in it already: it comes again, or was counted before it became a dead letter.
    public var wasCounted: Bool { isCounted || record.has(.counted) }

    /// The last header of this name.
    public func header(_ name: String) -> String? {
        var name = name
        return name.withUTF8 { Self.string(record.value(of: UnsafeRawBufferPointer($0))) }
    }

    /// The value of the last header of this name, good for as long as the context is.
    public func headerBytes(_ name: Span<UInt8>) -> UnsafeRawBufferPointer? {
        name.withUnsafeBytes { record.value(of: $0) }
    }

    /// Writes a line to the service's log, with the stage and the source as fields. No text of the payload belongs here.
    public func log(_ severity: StageResources.Severity, _ message: String) {
        chain.log(severity, chain.links[stage].stage.name, source, message)
    }

    private static func string(_ bytes: UnsafeRawBufferPointer?) -> String? {
        bytes.map { String(decoding: $0, as: UTF8.self) }
    }
}
