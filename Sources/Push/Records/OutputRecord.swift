/// What leaves for a delivery, beside the input's key and timestamp: a value, and what changes in the input's headers.
/// The bytes are the input record's or the delivery's own, good until the delivery is filled again.
public struct OutputRecord {
    public internal(set) var value: UnsafeRawBufferPointer?
    /// Names of input headers that do not go on, each once. All headers of such a name go.
    public internal(set) var removedHeaders: [UnsafeRawBufferPointer] = []
    /// What follows the input headers that stay.
    public internal(set) var addedHeaders: [RecordHeader] = []
}
