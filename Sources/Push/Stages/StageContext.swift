/// What a stage knows of the message beside its content.
public struct StageContext: Sendable {
    /// When the message leaves at the latest.
    public let deadline: Instant
    /// Milliseconds since 1970: the clock in a service, the record's own timestamp in a replay.
    public let wallClock: Int64
    let record: InputRecord
    let chain: Chain
    let stage: Int

    /// Where the record stands in the input.
    public var source: Source { record.source }
    /// Who is notified; the bytes are good for as long as the context is.
    public var recipientBytes: UnsafeRawBufferPointer? { record.recipient }
    public var recipient: String? { recipientBytes.map { String(decoding: $0, as: UTF8.self) } }
    /// The header `locale`.
    public var locale: String? { header("locale") }

    /// Writes a line to the service's log, with the stage and the source as fields. No text of the payload belongs here.
    public func log(_ severity: StageResources.Severity, _ message: String) {
        chain.log(severity, chain.links[stage].stage.name, source, message)
    }

    /// The last header of this name.
    public func header(_ name: String) -> String? { nil }

    public func headerBytes(_ name: StaticString) -> UnsafeRawBufferPointer? { nil }
}
