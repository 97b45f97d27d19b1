/// What the index has of a block of rows.
struct CountBlock: Equatable {
    let first: AccountHash
    private let checksum: UInt64

    init(_ rows: UnsafeBufferPointer<CountRow>) {
        first = rows.first?.account ?? AccountHash(high: 0, low: 0)
        // The factors are odd: any other value of a word leads to another sum.
        var (sum, factor) = (UInt64(0), 0x9e37_79b9_7f4a_7c15 as UInt64)
        UnsafeRawBufferPointer(rows).withMemoryRebound(to: UInt64.self) { words in
            for word in words {
                sum &+= word &* factor
                factor &+= 0x3c6e_f372_fe94_f82a
            }
        }
        checksum = sum
    }

    /// The blocks of these rows, which begin with a whole one.
    static func all(of rows: UnsafeBufferPointer<CountRow>) -> some Sequence<CountBlock> {
        stride(from: 0, to: rows.count, by: SortedCounts.rowsOfBlock).lazy.map { start in
            let end = min(start + SortedCounts.rowsOfBlock, rows.count)
            return CountBlock(UnsafeBufferPointer(rebasing: rows[start..<end]))
        }
    }
}

/// The end of a file of counts: sixteen words, as this struct has them in memory.
struct CountTrailer {
    static let ownVersion: Int64 = 4
    static let size = MemoryLayout<CountTrailer>.size
    /// Of its place, so that it is within one sector.
    static let alignment = 512
    private static let ownMark: Int64 = 0x7374_6E75_6F63_6D70

    private var mark = ownMark
    private(set) var version = ownVersion
    var rowCount = 0
    var identityCount = 0
    var indexChecksum: Int64 = 0
    var secret = AccountSecret(0, 0)
    /// Whether there is a position, and its parts.
    private var positionWords: InlineArray<4, Int64> = [0, 0, 0, 0]
    private var highestWords: InlineArray<4, Int64> = [0, 0, 0, 0]
    private var checksum: Int64 = 0

    var position: RecordPosition? {
        get {
            positionWords[0] == 0
                ? nil
                : RecordPosition(
                    partition: Int32(clamping: positionWords[1]), offset: positionWords[2], timestamp: positionWords[3])
        }
        set { positionWords = newValue.map { [1, Int64($0.partition), $0.offset, $0.timestamp] } ?? [0, 0, 0, 0] }
    }
    var highest: CountState? {
        get {
            highestWords[0] == 0
                ? nil
                : CountState(
                    count: Int32(clamping: highestWords[1]), incarnation: UInt32(clamping: highestWords[2]),
                    offset: highestWords[3])
        }
        set { highestWords = newValue.map { [1, Int64($0.count), Int64($0.incarnation), $0.offset] } ?? [0, 0, 0, 0] }
    }

    var blockCount: Int { (rowCount + SortedCounts.rowsOfBlock - 1) / SortedCounts.rowsOfBlock }
    var indexPlace: Int { rowCount * CountRow.size }
    var identityPlace: Int { indexPlace + blockCount * MemoryLayout<CountBlock>.stride }
    var place: Int { (identityPlace + identityCount + Self.alignment - 1) / Self.alignment * Self.alignment }

    func fits(before place: Int) -> Bool {
        (0...place / CountRow.size).contains(rowCount) && (0...place).contains(identityCount) && self.place == place
    }

    func rowCount(of block: Int) -> Int {
        min(SortedCounts.rowsOfBlock, rowCount - block * SortedCounts.rowsOfBlock)
    }

    /// The trailer is what was written. Its numbers are then those of a file that was written.
    var isWhole: Bool { mark == Self.ownMark && checksum == ownChecksum }

    mutating func seal() { checksum = ownChecksum }

    private var ownChecksum: Int64 {
        withUnsafeBytes(of: self) { Self.checksum(UnsafeRawBufferPointer(rebasing: $0[..<120])) }
    }

    mutating func withBytes(_ body: (UnsafeMutableRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
        try withUnsafeMutableBytes(of: &self) { (bytes) throws(StoreError) in try body(bytes) }
    }

    static func checksum(_ index: [CountBlock]) -> Int64 { index.withUnsafeBytes { checksum($0) } }

    private static func checksum(_ bytes: UnsafeRawBufferPointer) -> Int64 {
        Int64(bitPattern: AccountSecret(0, 0).hash(bytes).high)
    }
}
