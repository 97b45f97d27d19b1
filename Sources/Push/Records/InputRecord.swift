/// One header of a record. A header may have no value, and records may repeat a name.
public struct RecordHeader {
    public var name: UnsafeRawBufferPointer
    public var value: UnsafeRawBufferPointer?

    public init(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
        self.name = name
        self.value = value
    }
}

/// The record a notification came in. Its bytes are lent by whoever fills it, until `own` copies them.
///
/// Unchecked because of its pointers: a record is filled while one delivery alone holds it, and stays as it is from
/// the first stage that may suspend until nobody else holds it.
public final class InputRecord: @unchecked Sendable {
    public var source: Source
    /// Milliseconds since 1970.
    public var timestamp: Int64 = 0
    public var key: UnsafeRawBufferPointer?
    public var value: UnsafeRawBufferPointer?
    /// Who is notified: the `recipient` header, else the key.
    public var recipient: UnsafeRawBufferPointer?
    public var headers: [RecordHeader] = []

    private var copy: UnsafeMutableRawBufferPointer?

    init() { source = Source(topic: SourceTopic(""), partition: 0, offset: 0) }

    deinit { copy?.deallocate() }
}
