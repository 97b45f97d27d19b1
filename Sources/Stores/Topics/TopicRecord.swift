/// A record of a compacted topic that is kept as a copy here, in memory that somebody else holds.
package struct TopicRecord {
    package let position: RecordPosition
    let key: UnsafeRawBufferPointer?
    let value: UnsafeRawBufferPointer?

    package init(_ position: RecordPosition, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?) {
        self.position = position
        self.key = key
        self.value = value
    }
}

/// Where a record stands. The timestamp tells it from one that has its offset in a topic of the same name made later.
package struct RecordPosition: Sendable, Equatable {
    package let partition: Int32
    package let offset: Int64
    package let timestamp: Int64

    package init(partition: Int32, offset: Int64, timestamp: Int64) {
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
    }
}

/// A record that does not say what records of its topic say, and why.
package struct RefusedRecord: Sendable, Equatable {
    package let position: RecordPosition
    package let what: String
}
