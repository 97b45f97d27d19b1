import CPushmillMemory
import Glibc
import PushmillStores

/// Accounts in one block of memory: open addressing with linear probing and Robin Hood insertion. An account's home is
/// proportional to its hash, so cells are nearly in hash order and a table may have any size.
///
/// Cell indices are valid until the next `insert`, `evict` or `resize`.
struct CountTable: ~Copyable {
    static let smallest = 64

    private var cells = CountTable.allocate(CountTable.smallest)
    private(set) var capacity = CountTable.smallest
    private(set) var count = 0
    /// How many of these accounts must stay in memory.
    private(set) var heldCount = 0

    deinit { Self.free(cells, capacity) }

    var byteCount: Int { capacity * MemoryLayout<CountCell>.stride }

    /// How many accounts fit into `capacity` cells: beyond that, probing takes long.
    static func room(_ capacity: Int) -> Int { capacity / 16 * 13 }

    /// The reserve above `room`, for accounts that come when nothing can be evicted, is used up.
    var isCrowded: Bool { count >= capacity / 16 * 15 }

    /// How many cells `count` accounts need.
    static func capacity(for count: Int) -> Int { max(smallest, (count + 12) / 13 * 16) }

    func prefetch(_ account: AccountHash) { pushmill_prefetch(cells + home(account.high)) }

    @inline(__always)
    func find(_ account: AccountHash) -> Int? {
        var (at, steps) = (home(account.high), 0)
        while true {
            let cell = cells + at
            guard cell.pointee.isUsed else { return nil }
            if cell.pointee.high == account.high && cell.pointee.low == account.low { return at }
            guard steps <= distance(at) else { return nil }
            (at, steps) = (next(at), steps + 1)
        }
    }

    /// The account must not be in the table, and at least two cells must be free. A cell farther from its home
    /// displaces one that is nearer, so no cell is far from home.
    mutating func insert(_ cell: CountCell) {
        precondition(count + 1 < capacity)
        count += 1
        if cell.isHeld { heldCount += 1 }
        var (cell, at, steps) = (cell, home(cell.high), 0)
        while cells[at].isUsed {
            let other = distance(at)
            if other < steps {
                swap(&cell, &cells[at])
                steps = other
            }
            (at, steps) = (next(at), steps + 1)
        }
        cells[at] = cell
    }

    subscript(_ at: Int) -> CountCell {
        @inline(__always) get { cells[at] }
        @inline(__always) set {
            heldCount += (newValue.isHeld ? 1 : 0) - (cells[at].isHeld ? 1 : 0)
            cells[at] = newValue
        }
    }

    /// Marks the account as referenced: the next round of the clock hand does not evict it.
    @inline(__always)
    func touch(_ at: Int) { cells[at].flags.insert(.referenced) }

    var longestProbe: Int {
        (0..<capacity).reduce(0) { longest, at in cells[at].isUsed ? max(longest, distance(at)) : longest }
    }

    /// Evicts an account that nothing holds, near the home of this one, so that the table stays evenly full. An account
    /// referenced since it was last considered is spared once. False if none is found.
    mutating func evict(near account: AccountHash) -> Bool {
        let first = (home(account.high) + Int(account.low & 15)) % capacity
        for _ in 0..<2 {
            var at = first
            for _ in 0..<min(64, capacity) {
                let cell = cells[at]
                if cell.isUsed, !cell.isHeld {
                    if !cell.flags.contains(.referenced) {
                        remove(at)
                        return true
                    }
                    cells[at].flags.remove(.referenced)
                }
                at = next(at)
            }
        }
        return false
    }

    /// Moves back by one those cells after it that are not at home: no cell is ever marked as deleted.
    private mutating func remove(_ at: Int) {
        count -= 1
        var (hole, at) = (at, next(at))
        while cells[at].isUsed, distance(at) > 0 {
            cells[hole] = cells[at]
            (hole, at) = (at, next(at))
        }
        memset(cells + hole, 0, MemoryLayout<CountCell>.stride)
    }

    /// Changes the size. If not all accounts fit, the held ones stay, and as many others as there is room for. Both
    /// tables are traversed in hash order: the old one's memory is given back while the new one's is taken.
    mutating func resize(to capacity: Int) {
        precondition(heldCount + 1 < capacity)
        let (old, oldCapacity) = (cells, self.capacity)
        // Accounts that nothing holds are chosen by their hash, so that the table is evenly full.
        var others = max(0, Self.room(capacity) - heldCount)
        let share = others * 256 / max(1, count - heldCount)
        cells = Self.allocate(capacity)
        self.capacity = capacity
        (count, heldCount) = (0, 0)
        let piece = 1 << 16
        for at in 0..<oldCapacity {
            let cell = old[at]
            if cell.isUsed, cell.isHeld {
                insert(cell)
            } else if cell.isUsed, others > 0, cell.low >> 8 & 255 < share {
                insert(cell)
                others -= 1
            }
            if at & (piece - 1) == piece - 1 {
                madvise(old + (at - (piece - 1)), piece * MemoryLayout<CountCell>.stride, MADV_DONTNEED)
            }
        }
        Self.free(old, oldCapacity)
    }

    @inline(__always)
    private func home(_ high: UInt64) -> Int {
        Int(truncatingIfNeeded: high.multipliedFullWidth(by: UInt64(truncatingIfNeeded: capacity)).high)
    }

    @inline(__always)
    private func next(_ at: Int) -> Int { at + 1 == capacity ? 0 : at + 1 }

    /// How far the cell's account is from its home.
    @inline(__always)
    private func distance(_ at: Int) -> Int {
        let home = home(cells[at].high)
        return at >= home ? at - home : at - home + capacity
    }

    private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<CountCell> {
        let size = capacity * MemoryLayout<CountCell>.stride
        let block = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let block, block != MAP_FAILED else { preconditionFailure("out of memory: \(size) bytes for counts") }
        madvise(block, size, MADV_HUGEPAGE)
        return block.bindMemory(to: CountCell.self, capacity: capacity)
    }

    private static func free(_ cells: UnsafeMutablePointer<CountCell>, _ capacity: Int) {
        munmap(cells, capacity * MemoryLayout<CountCell>.stride)
    }
}

/// An account in memory, in 32 bytes without a pointer: two to a cache line.
struct CountCell {
    struct Flags: OptionSet {
        let rawValue: UInt64

        /// The cell holds an account. Memory that was never written is free cells.
        static let used = Flags(rawValue: 1)
        /// The account was looked up since it was last considered for eviction.
        static let referenced = Flags(rawValue: 2)
        /// A row of the account waits for the write-behind: the disk has an earlier state or none.
        static let pending = Flags(rawValue: 4)
        /// The changelog does not have the state yet.
        static let changed = Flags(rawValue: 8)
        /// The account belongs to the batch that is being loaded.
        static let wanted = Flags(rawValue: 16)

        static let all: Flags = [.used, .referenced, .pending, .changed, .wanted]
        /// An account with any of these flags must stay in memory.
        static let holding: Flags = [.pending, .changed, .wanted]
    }

    private static let flagBits: UInt64 = 5
    private static let offsetBits: UInt64 = 46

    let high: UInt64
    let low: UInt64
    /// 12 bits of incarnation, 46 of offset + 1, 5 of flags. Without the flags, a later state is greater.
    private var word: UInt64
    private var count: Int32
    /// The last unfinished entry that changed it; 0 for none.
    var entry: UInt32 = 0

    init(_ account: AccountHash, _ state: CountState) {
        high = account.high
        low = account.low
        word = Self.pack(state) | Flags.used.rawValue
        count = state.count
    }

    var flags: Flags {
        get { Flags(rawValue: word & Flags.all.rawValue) }
        set { word = word & ~Flags.all.rawValue | newValue.rawValue }
    }

    var isUsed: Bool { word != 0 }

    var isHeld: Bool { entry != 0 || word & Flags.holding.rawValue != 0 }

    var state: CountState {
        get {
            CountState(
                count: count,
                incarnation: UInt32(truncatingIfNeeded: word >> (Self.offsetBits + Self.flagBits)),
                offset: Int64(word >> Self.flagBits & (1 << Self.offsetBits - 1)) - 1)
        }
        set {
            word = Self.pack(newValue) | word & Flags.all.rawValue
            count = newValue.count
        }
    }

    /// Clamps to the limits; the changelog's codec lets nothing beyond them in.
    private static func pack(_ state: CountState) -> UInt64 {
        let incarnation = UInt64(min(state.incarnation, CountState.highestIncarnation))
        let offset = UInt64(min(max(state.offset, -1), CountState.highestOffset) + 1)
        return incarnation << (offsetBits + flagBits) | offset << flagBits
    }
}

/// A Bloom filter of the accounts in a file, with five bits in one word: a new account costs no read of the disk. It
/// exists only if the file was empty when it was opened.
struct CountFilter {
    private var words: [UInt64]
    private var count = 0

    init(bytes: Int) { words = Array(repeating: 0, count: max(8, bytes / 8)) }

    /// So many accounts that the filter says yes too often.
    var isFull: Bool { count > words.count * 16 }

    mutating func add(_ account: AccountHash) {
        let (word, bits) = (place(account), Self.bits(account))
        if words[word] & bits == bits { return }
        words[word] |= bits
        count += 1
    }

    func contains(_ account: AccountHash) -> Bool {
        let bits = Self.bits(account)
        return words[place(account)] & bits == bits
    }

    private func place(_ account: AccountHash) -> Int {
        Int(truncatingIfNeeded: account.high.multipliedFullWidth(by: UInt64(words.count)).high)
    }

    private static func bits(_ account: AccountHash) -> UInt64 {
        var (bits, rest) = (UInt64(0), account.low)
        for _ in 0..<5 {
            bits |= 1 << (rest & 63)
            rest >>= 6
        }
        return bits
    }
}
