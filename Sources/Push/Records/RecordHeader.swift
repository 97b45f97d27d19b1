/// One header of a record. A header may have no value, and records may repeat a name: then the last one counts.
public struct RecordHeader {
    public var name: UnsafeRawBufferPointer
    public var value: UnsafeRawBufferPointer?

    public init(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
        self.name = name
        self.value = value
    }
}
