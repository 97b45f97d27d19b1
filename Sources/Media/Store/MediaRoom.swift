import Glibc
import PushmillPayload
import Synchronization

/// How much more a folder of media takes. All of it together, files that are still coming in included, stays within its
/// capacity; and its disk, where the state of the service may be too, keeps a floor of free space.
final class MediaRoom: Sendable {
    /// So much of a disk is left free, or a twentieth of it where that is less.
    private static let floor = 1_000_000_000
    /// The disk is asked again after so many bytes: on a network that is a question to its server.
    private static let step = 1 << 20

    private let path: String
    private let capacity: Int
    /// Bytes of files that this process has not finished.
    private let partial = Atomic<Int>(0)
    /// Bytes of files that are whole: as they were counted last, and what came since.
    private let kept = Atomic<Int>(0)
    /// What the disk has above its floor, as it was found last.
    private let free = Atomic<Int>(.max)
    private let refusals = Atomic<Int>(0)
    /// Bytes since the disk was asked last, and since somebody was told of growth.
    private let unasked = Atomic<Int>(0)
    private let grown = Atomic<Int>(0)
    private let onGrowth = Mutex<(@Sendable () -> Void)?>(nil)
    private let measure: @Sendable (String) -> (size: Int, available: Int)?

    /// `measure` gives the bytes of the disk that a folder is on, and those that are free; nil where it cannot tell.
    init(
        path: String, capacity: Int,
        measure: @escaping @Sendable (String) -> (size: Int, available: Int)? = MediaRoom.disk
    ) {
        self.path = path
        self.capacity = capacity
        self.measure = measure
    }

    /// Is told each time that a fiftieth of the capacity has come. For one.
    func watch(_ body: @escaping @Sendable () -> Void) { onGrowth.withLock { $0 = body } }

    // MARK: Taking

    /// For a file that is to begin.
    func begin() throws(FileFailure) {
        askDisk()
        try check()
    }

    /// For so many more bytes of a file, which are given back by `end`.
    func take(_ count: Int) throws(FileFailure) {
        let unasked = unasked.add(count, ordering: .relaxed).newValue
        if unasked >= Self.step { askDisk() }
        try check(adding: count)
        partial.add(count, ordering: .relaxed)
        let (before, now) = grown.add(count, ordering: .relaxed)
        let share = capacity / 50
        if before < share, now >= share { onGrowth.withLock { $0 }?() }
    }

    /// A file of that many bytes is whole, or gone. `isNew`: it is kept, and in no other's place.
    func end(_ count: Int, isNew: Bool) {
        partial.subtract(count, ordering: .relaxed)
        if isNew { kept.add(count, ordering: .relaxed) }
    }

    /// Files that are whole are counted from now on. What comes meanwhile may be missed: it makes for the next count.
    func beginCount() { grown.store(0, ordering: .relaxed) }

    /// Nil where they could not be.
    func counted(_ bytes: Int?) {
        if let bytes { kept.store(bytes, ordering: .relaxed) }
        askDisk()
    }

    private func check(adding count: Int = 0) throws(FileFailure) {
        let problem: String
        if free.load(ordering: .relaxed) <= 0 {
            problem = "its disk is nearly full: nothing more is kept while less than 1 GB, or 5%, of it are free"
        } else if partial.load(ordering: .relaxed) + count > capacity {
            problem = "as much is coming in as may be kept"
        } else {
            return
        }
        refusals.add(1, ordering: .relaxed)
        throw FileFailure(path: path, what: problem)
    }

    /// May take as long as the disk does.
    func askDisk() {
        unasked.store(0, ordering: .relaxed)
        guard let (size, available) = measure(path) else { return }
        free.store(max(0, available - min(Self.floor, size / 20)), ordering: .relaxed)
    }

    private static func disk(_ path: String) -> (size: Int, available: Int)? {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        // There are file systems that have no end.
        func bytes(_ blocks: UInt) -> Int { Int(clamping: UInt128(blocks) * UInt128(status.f_frsize)) }
        return (bytes(status.f_blocks), bytes(status.f_bavail))
    }

    // MARK: Telling

    var figures: MediaFigures {
        MediaFigures(
            path: path, bytes: kept.load(ordering: .relaxed) + partial.load(ordering: .relaxed), limit: capacity,
            free: free.load(ordering: .relaxed), refusals: refusals.load(ordering: .relaxed))
    }
}

/// What a folder of media holds, and what it may hold, in bytes.
package struct MediaFigures: Sendable, Equatable {
    package let path: String
    package let bytes: Int
    package let limit: Int
    /// Of the folder's disk, above the floor that is left free.
    package let free: Int
    /// How often something was not kept for want of room.
    package let refusals: Int
}

/// What the process may have open.
enum Descriptors {
    /// Of connections, and of files: each of them a third, and the rest of the process another one.
    static var share: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 / 3 }
        return Int(clamping: min(limit.rlim_cur, 1 << 20)) / 3
    }
}
