import PushmillStores

/// An account in memory, in 32 bytes without a pointer: two to a cache line.
struct CountCell {
    struct Flags: OptionSet {
        let rawValue: UInt64

        /// An account is here: memory that was never written is free cells.
        static let used = Flags(rawValue: 1)
        /// Since it was last considered for eviction.
        static let referenced = Flags(rawValue: 2)
        /// A row of it waits to be written behind: the disk has an earlier one, or none.
        static let pending = Flags(rawValue: 4)
        /// The state is in no changelog yet.
        static let changed = Flags(rawValue: 8)
        /// The state before this transaction is in the log of what can be undone.
        static let logged = Flags(rawValue: 16)

        /// Of the batch that is being loaded.
        static let wanted = Flags(rawValue: 32)

        static let all: Flags = [.used, .referenced, .pending, .changed, .logged, .wanted]
        /// With any of these the account must stay in memory.
        static let holding: Flags = [.pending, .changed, .logged, .wanted]
    }

    private static let flagBits: UInt64 = 6
    private static let offsetBits: UInt64 = 46

    let high: UInt64
    let low: UInt64
    /// 12 bits of incarnation, 46 of offset plus one, 6 of flags: without these, later states are greater.
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

    var account: AccountHash { AccountHash(high: high, low: low) }

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
