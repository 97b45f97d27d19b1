@testable import PushmillStores

extension TopicContacts {
    /// The last record of each partition that the contacts include.
    func positions() throws -> [Int32: RecordPosition] { try marks().compactMapValues(\.last) }

    /// Applies records of one partition, the first at offset 10 unless another is given.
    func apply(
        _ records: [(key: String?, value: String?)], of partition: Int32 = 0, at first: Int64 = 10, now: Int64
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
            let position = RecordPosition(partition: partition, offset: first + Int64(index), timestamp: Int64(index))
            return (position, record.key.map(hold), record.value.map(hold))
        }
        return try apply(records, now: now)
    }
}
