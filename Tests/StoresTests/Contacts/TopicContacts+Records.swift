@testable import PushmillStores

extension TopicContacts {
    /// Applies records of one partition, the first at offset 10.
    func apply(
        _ records: [(key: String?, value: String?)], of partition: Int32 = 0, now: Int64
    ) throws -> [RefusedRecord] {
        var held: [UnsafeMutableRawBufferPointer] = []
        defer { for bytes in held { bytes.deallocate() } }
        func hold(_ text: String) -> UnsafeRawBufferPointer {
            let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count, alignment: 1)
            bytes.copyBytes(from: text.utf8)
            held.append(bytes)
            return UnsafeRawBufferPointer(bytes)
        }
        let records = records.enumerated().map { index, record -> TopicRecord in
            let position = RecordPosition(partition: partition, offset: Int64(10 + index), timestamp: Int64(index))
            return (position, record.key.map(hold), record.value.map(hold))
        }
        return try apply(records, now: now)
    }
}
