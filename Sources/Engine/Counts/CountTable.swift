import CPushmillMemory
import Glibc
import PushmillStores

/// Accounts in one block of memory: open addressing with linear probing, Robin Hood's way. An account's home is its hash's share of the
/// table, so that cells stand nearly in the order of their hashes, and a table may have any size.
///
/// Numbers of cells are good until `insert`, `evict` or `resize`.
struct CountTable: ~Copyable {
    static let smallest = 64

    private var cells = CountTable.allocate(CountTable.smallest)
    private(set) var capacity = CountTable.smallest
    private(set) var count = 0
    /// Of these: accounts that must stay.
    private(set) var heldCount = 0

    deinit { Self.free(cells, capacity) }

    var byteCount: Int { capacity * MemoryLayout<CountCell>.stride }

    /// How many accounts fit into so many cells: beyond it probing becomes long.
    static func room(_ capacity: Int) -> Int { capacity / 16 * 13 }

    /// There is no room for another account, but for a few where nothing can be evicted.
    var isCrowded: Bool { count >= capacity / 16 * 15 }

    /// How many cells so many accounts need.
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

    /// The account is not there yet, and one cell more than it needs is free. Who is farther from home goes first, so that
    /// nobody is far.
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

    /// Keeps the next round of the clock's hand from evicting it.
    @inline(__always)
    func touch(_ at: Int) { cells[at].flags.insert(.referenced) }

    var longestProbe: Int {
        (0..<capacity).reduce(0) { longest, at in cells[at].isUsed ? max(longest, distance(at)) : longest }
    }

    /// Evicts an account that nothing holds, near the home of this one, so that no piece of the table becomes fuller than
    /// others. One that was referenced since it was last considered is left, once. False where there is none to be found.
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

    /// Those behind it that are not at home move up by one: no cell is ever marked as deleted.
    private mutating func remove(_ at: Int) {
        count -= 1
        var (hole, at) = (at, next(at))
        while cells[at].isUsed, distance(at) > 0 {
            cells[hole] = cells[at]
            (hole, at) = (at, next(at))
        }
        memset(cells + hole, 0, MemoryLayout<CountCell>.stride)
    }

    /// A table of another size. Where not all fit into it, as many as there is room for stay, and those that are held. Both
    /// are gone through in the order of the hashes: memory of the old one is given back as that of the new one is taken.
    mutating func resize(to capacity: Int) {
        precondition(heldCount + 1 < capacity)
        let (old, oldCapacity) = (cells, self.capacity)
        // Of those that nothing holds, by their hash: the table becomes evenly full.
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

        /// An account is here: memory that was never written is free cells.
        static let used = Flags(rawValue: 1)
        /// It was looked up since it was last considered for eviction.
        static let referenced = Flags(rawValue: 2)
        /// A row of it waits to be written behind: the disk has an earlier one, or none.
        static let pending = Flags(rawValue: 4)
        /// The state is in no changelog yet.
        static let changed = Flags(rawValue: 8)
        /// It belongs to the batch that is being loaded.
        static let wanted = Flags(rawValue: 16)

        static let all: Flags = [.used, .referenced, .pending, .changed, .wanted]
        /// With any of these the account must stay in memory.
        static let holding: Flags = [.pending, .changed, .wanted]
    }

    private static let flagBits: UInt64 = 5
    private static let offsetBits: UInt64 = 46

    let high: UInt64
    let low: UInt64
    /// 12 bits of incarnation, 46 of offset plus one, 5 of flags: without these, later states are greater.
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

    /// What is beyond the limits becomes the limit: the codec of the changelog lets nothing of that in.
    private static func pack(_ state: CountState) -> UInt64 {
        let incarnation = UInt64(min(state.incarnation, CountState.highestIncarnation))
        let offset = UInt64(min(max(state.offset, -1), CountState.highestOffset) + 1)
        return incarnation << (offsetBits + flagBits) | offset << flagBits
    }
}
