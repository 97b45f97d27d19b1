import PushmillStores

/// The partitions of a topic of contacts that are read here.
struct FollowedPartitions {
    private struct Followed {
        /// It was read to its end since it is followed.
        var isServed = false
        /// And needs not be read from its beginning again, while what is there stays in service.
        var isWhole = false
        /// What it must still hold, or something newer, if it is the one that was read before.
        var expected: RecordPosition?
    }

    private var followed: [Int32: Followed] = [:]

    var isEmpty: Bool { followed.isEmpty }
    var all: Set<Int32> { Set(followed.keys) }
    var whole: Set<Int32> { Set(followed.filter(\.value.isWhole).keys) }
    var areWhole: Bool { followed.values.allSatisfy(\.isWhole) }
    var served: Set<Int32> { Set(followed.filter(\.value.isServed).keys) }
    var areServed: Bool { followed.values.allSatisfy(\.isServed) }

    func contains(_ partition: Int32) -> Bool { followed[partition] != nil }

    /// What is known of those that stay is kept.
    mutating func become(_ partitions: Set<Int32>) {
        followed = Dictionary(uniqueKeysWithValues: partitions.map { ($0, followed[$0] ?? Followed()) })
    }

    /// They have been read to their ends.
    mutating func complete(_ partitions: Set<Int32>) {
        for partition in partitions {
            followed[partition]?.isWhole = true
            followed[partition]?.isServed = true
        }
    }

    /// They are read from their beginning. True if any of them is followed.
    mutating func forget(_ partitions: Set<Int32>) -> Bool {
        for partition in partitions { followed[partition]?.isWhole = false }
        return partitions.contains { followed[$0] != nil }
    }

    mutating func expect(_ last: RecordPosition?, in partition: Int32) { followed[partition]?.expected = last }

    func expected(in partition: Int32) -> RecordPosition? { followed[partition]?.expected }
}
