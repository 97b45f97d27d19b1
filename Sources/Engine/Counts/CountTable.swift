import CMemory
import Glibc
import Stores

/// Accounts in one block of memory: open addressing with linear probing. An account's home is its hash's share of the
/// table, so that cells stand nearly in the order of their hashes, in a table of any size.
///
/// Numbers of cells are good until `evict`, `resize` or `removeAll`.
struct CountTable: ~Copyable {
    static let smallest = 64

    private var cells: UnsafeMutablePointer<CountCell>
    private(set) var capacity: Int
    private(set) var count = 0
    /// Of these: accounts that must stay.
    private(set) var heldCount = 0
    /// Of these: with an unfinished entry.
    private(set) var pinnedCount = 0
    /// In so many rounds the hand has looked at every account.
    static let rounds: UInt64 = 8
    private var hand = 0
    private var round: UInt64 = 0

    init(capacity: Int = CountTable.smallest) {
        self.capacity = capacity
        cells = Self.allocate(capacity)
    }

    deinit { Self.free(cells, capacity) }

    var byteCount: Int { capacity * MemoryLayout<CountCell>.stride }

    /// How many accounts fit into so many cells: beyond it probing becomes long.
    static func room(_ capacity: Int) -> Int { capacity / 16 * 13 }

    /// How many cells so many accounts need.
    static func capacity(for count: Int) -> Int { max(smallest, (count + 12) / 13 * 16) }

    // MARK: Accounts

    func prefetch(_ account: AccountHash) { pushmill_prefetch(cells + home(account.high)) }

    @inline(__always)
    func find(_ account: AccountHash) -> Int? {
        var at = home(account.high)
        while true {
            let cell = cells + at
            if cell.pointee.high == account.high && cell.pointee.low == account.low && cell.pointee.isUsed { return at }
            guard cell.pointee.isUsed else { return nil }
            at = next(at)
        }
    }

    /// The account is not there yet, and one cell more than it needs is free.
    @discardableResult
    mutating func insert(_ cell: CountCell) -> Int {
        precondition(count + 1 < capacity)
        var at = home(cell.high)
        while cells[at].isUsed { at = next(at) }
        cells[at] = cell
        count += 1
        if cell.isHeld { heldCount += 1 }
        if cell.entry != 0 { pinnedCount += 1 }
        return at
    }

    subscript(_ at: Int) -> CountCell {
        @inline(__always) get { cells[at] }
        @inline(__always) set {
            heldCount += (newValue.isHeld ? 1 : 0) - (cells[at].isHeld ? 1 : 0)
            pinnedCount += (newValue.entry != 0 ? 1 : 0) - (cells[at].entry != 0 ? 1 : 0)
            cells[at] = newValue
        }
    }

    /// Keeps the next round of the clock's hand from evicting it.
    @inline(__always)
    func touch(_ at: Int) { cells[at].flags.insert(.referenced) }

    mutating func forEach(_ body: (inout CountCell) -> Void) {
        for at in 0..<capacity where cells[at].isUsed { body(&self[at]) }
    }

    // MARK: Size

    /// Evicts up to so many accounts that nothing holds, those that were not referenced since the hand was last at them.
    /// The hand passes each cell once at most: what was touched just before is still there.
    ///
    /// In each of its rounds it looks at an eighth of the accounts, by their hash: if it emptied a piece of the table at
    /// a time, the pieces before it would overflow.
    mutating func evict(_ wanted: Int) {
        var (left, steps) = (wanted, capacity)
        // From behind a free cell on: what closes a hole never comes over it from where the hand began.
        while cells[hand == 0 ? capacity - 1 : hand - 1].isUsed { advance() }
        while left > 0, steps > 0 {
            steps -= 1
            let cell = cells + hand
            if !cell.pointee.isUsed || (cell.pointee.low ^ round) & (Self.rounds - 1) != 0 || cell.pointee.isHeld {
                advance()
            } else if cell.pointee.flags.contains(.referenced) {
                cell.pointee.flags.remove(.referenced)
                advance()
            } else {
                // What comes into its place is looked at next.
                remove(hand)
                left -= 1
            }
        }
    }

    private mutating func advance() {
        hand = next(hand)
        if hand == 0 { round &+= 1 }
    }

    /// What probing had pushed beyond the hole moves back into it: no cell is ever marked as deleted.
    private mutating func remove(_ at: Int) {
        var (hole, at) = (at, at)
        count -= 1
        while true {
            at = next(at)
            guard cells[at].isUsed else { break }
            if distance(home(cells[at].high), at) >= distance(hole, at) {
                cells[hole] = cells[at]
                hole = at
            }
        }
        memset(cells + hole, 0, MemoryLayout<CountCell>.stride)
    }

    /// Another table of that size, into which all fit. Both are gone through in the order of the hashes: memory of the old
    /// one is given back as that of the new one is taken.
    mutating func resize(to capacity: Int) {
        precondition(count < capacity)
        let (old, oldCapacity) = (cells, self.capacity)
        cells = Self.allocate(capacity)
        self.capacity = capacity
        (count, heldCount, pinnedCount, hand) = (0, 0, 0, 0)
        let piece = 1 << 16
        for at in 0..<oldCapacity {
            if old[at].isUsed { insert(old[at]) }
            if at & (piece - 1) == piece - 1 {
                madvise(old + (at - (piece - 1)), piece * MemoryLayout<CountCell>.stride, MADV_DONTNEED)
            }
        }
        Self.free(old, oldCapacity)
    }

    mutating func removeAll() {
        Self.free(cells, capacity)
        capacity = Self.smallest
        cells = Self.allocate(capacity)
        (count, heldCount, pinnedCount, hand) = (0, 0, 0, 0)
    }

    // MARK: Cells

    @inline(__always)
    private func home(_ high: UInt64) -> Int {
        Int(truncatingIfNeeded: high.multipliedFullWidth(by: UInt64(truncatingIfNeeded: capacity)).high)
    }

    @inline(__always)
    private func next(_ at: Int) -> Int { at + 1 == capacity ? 0 : at + 1 }

    private func distance(_ from: Int, _ to: Int) -> Int { to >= from ? to - from : to - from + capacity }

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
