import Glibc
import PushmillPayload
import Synchronization

/// How much more a media folder takes. All of its files together, those still coming in included, stay within its
/// capacity. Its disk, which may also hold the service's state, keeps a floor of free space.
final class MediaRoom: Sendable {
    /// Bytes of a disk that are left free, or a twentieth of the disk if that is less.
    private static let floor = 1_000_000_000
    /// The disk is queried again after this many bytes: on a network file system that is a request to its server.
    private static let step = 1 << 20

    private let path: String
    private let capacity: Int
    /// Bytes of files that this process has not finished.
    private let partial = Atomic<Int>(0)
    /// Bytes of complete files: the last count, plus what came since.
    private let kept = Atomic<Int>(0)
    /// Bytes that the disk had above its floor when it was last queried.
    private let free = Atomic<Int>(.max)
    private let refusals = Atomic<Int>(0)
    /// Bytes since the disk was last queried, and since the last count began.
    private let unasked = Atomic<Int>(0)
    private let grown = Atomic<Int>(0)
    private let onGrowth = Mutex<(@Sendable () -> Void)?>(nil)
    private let measure: @Sendable (String) -> (size: Int, available: Int)?

    /// `measure` returns the bytes of the disk that a folder is on, and those that are free; nil if it cannot tell.
    init(
        path: String, capacity: Int,
        measure: @escaping @Sendable (String) -> (size: Int, available: Int)? = MediaRoom.disk
    ) {
        self.path = path
        self.capacity = capacity
        self.measure = measure
    }

    /// Calls `body` when a fiftieth of the capacity has come since the last count. Only the last `body` is kept.
    func watch(_ body: @escaping @Sendable () -> Void) { onGrowth.withLock { $0 = body } }

    // MARK: Taking

    /// Checks the room before a file begins.
    func begin() throws(FileFailure) {
        askDisk()
        try check()
    }

    /// Takes room for `count` more bytes of a file; `end` gives it back.
    func take(_ count: Int) throws(FileFailure) {
        let unasked = unasked.add(count, ordering: .relaxed).newValue
        if unasked >= Self.step { askDisk() }
        try check(adding: count)
        partial.add(count, ordering: .relaxed)
        let (before, now) = grown.add(count, ordering: .relaxed)
        let share = capacity / 50
        if before < share, now >= share { onGrowth.withLock { $0 }?() }
    }

    /// A file of `count` bytes is complete or gone. `isNew`: it was kept and replaced no other file.
    func end(_ count: Int, isNew: Bool) {
        partial.subtract(count, ordering: .relaxed)
        if isNew { kept.add(count, ordering: .relaxed) }
    }

    /// A count of complete files begins. It may miss bytes that come meanwhile; they bring the next count closer.
    func beginCount() { grown.store(0, ordering: .relaxed) }

    /// The count has ended; nil if the folder could not be read.
    func counted(_ bytes: Int?) {
        if let bytes { kept.store(bytes, ordering: .relaxed) }
        askDisk()
    }

    private func check(adding count: Int = 0) throws(FileFailure) {
        let problem: String
        if free.load(ordering: .relaxed) <= 0 {
            problem = "its disk is nearly full: nothing more is kept while less than 1 GB or 5% of it is free"
        } else if partial.load(ordering: .relaxed) + count > capacity {
            problem = "unfinished files already fill its capacity"
        } else {
            return
        }
        refusals.add(1, ordering: .relaxed)
        throw FileFailure(path: path, what: problem)
    }

    /// Blocks until the disk answers.
    func askDisk() {
        unasked.store(0, ordering: .relaxed)
        guard let (size, available) = measure(path) else { return }
        free.store(max(0, available - min(Self.floor, size / 20)), ordering: .relaxed)
    }

    private static func disk(_ path: String) -> (size: Int, available: Int)? {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        // Some file systems are unlimited.
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

/// What a media folder holds, and what it may hold, in bytes.
package struct MediaFigures: Sendable, Equatable {
    package let path: String
    package let bytes: Int
    package let limit: Int
    /// Free bytes of the folder's disk above its floor.
    package let free: Int
    /// How often media was not kept for lack of room.
    package let refusals: Int
}

/// How many descriptors the process may have open.
enum Descriptors {
    /// A third of them each for connections and for files; the rest of the process has another third.
    static var share: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 / 3 }
        return Int(clamping: min(limit.rlim_cur, 1 << 20)) / 3
    }
}
