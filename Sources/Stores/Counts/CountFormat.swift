/// A count in the file, in 32 bytes.
struct CountRow: Comparable {
    static let size = MemoryLayout<CountRow>.stride

    let account: AccountHash
    private let offset: Int64
    private let count: Int32
    private let incarnation: UInt32

    init(_ account: AccountHash, _ state: CountState) {
        self.account = account
        (offset, count, incarnation) = (state.offset, state.count, state.incarnation)
    }

    var state: CountState { CountState(count: count, incarnation: incarnation, offset: offset) }

    static func < (left: CountRow, right: CountRow) -> Bool { left.account < right.account }
}

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

/// The end of a file of counts: sixteen words.
struct CountTrailer {
    static let ownVersion: Int64 = 4
    static let size = 128
    /// Of its place, so that it is within one sector.
    static let alignment = 512
    private static let mark: Int64 = 0x7374_6E75_6F63_6D70

    private var words = InlineArray<16, Int64>(repeating: 0)

    init() {
        words[0] = Self.mark
        words[1] = Self.ownVersion
    }

    var version: Int64 { words[1] }
    var rowCount: Int {
        get { Int(words[2]) }
        set { words[2] = Int64(newValue) }
    }
    var identityCount: Int {
        get { Int(words[3]) }
        set { words[3] = Int64(newValue) }
    }
    var indexChecksum: Int64 {
        get { words[4] }
        set { words[4] = newValue }
    }
    var secret: AccountSecret {
        get { AccountSecret(UInt64(bitPattern: words[5]), UInt64(bitPattern: words[6])) }
        set { (words[5], words[6]) = (Int64(bitPattern: newValue.first), Int64(bitPattern: newValue.second)) }
    }
    var position: RecordPosition? {
        get {
            words[7] == 0
                ? nil : RecordPosition(partition: Int32(clamping: words[8]), offset: words[9], timestamp: words[10])
        }
        set {
            words[7] = newValue == nil ? 0 : 1
            (words[8], words[9], words[10]) =
                (Int64(newValue?.partition ?? 0), newValue?.offset ?? 0, newValue?.timestamp ?? 0)
        }
    }
    var highest: CountState? {
        get {
            words[11] == 0
                ? nil
                : CountState(
                    count: Int32(clamping: words[12]), incarnation: UInt32(clamping: words[13]), offset: words[14])
        }
        set {
            words[11] = newValue == nil ? 0 : 1
            (words[12], words[13], words[14]) =
                (Int64(newValue?.count ?? 0), Int64(newValue?.incarnation ?? 0), newValue?.offset ?? 0)
        }
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
    var isWhole: Bool { words[0] == Self.mark && words[15] == ownChecksum }

    mutating func seal() { words[15] = ownChecksum }

    private var ownChecksum: Int64 {
        withUnsafeBytes(of: words) { Self.checksum(UnsafeRawBufferPointer(rebasing: $0[..<120])) }
    }

    mutating func withBytes(_ body: (UnsafeMutableRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
        try withUnsafeMutableBytes(of: &words) { (bytes) throws(StoreError) in try body(bytes) }
    }

    static func checksum(_ index: [CountBlock]) -> Int64 { index.withUnsafeBytes { checksum($0) } }

    private static func checksum(_ bytes: UnsafeRawBufferPointer) -> Int64 {
        Int64(bitPattern: AccountSecret(0, 0).hash(bytes).high)
    }
}
