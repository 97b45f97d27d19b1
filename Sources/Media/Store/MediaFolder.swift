import Dispatch
import FoundationEssentials
import Glibc
import PushmillPayload
import PushmillStages
import Synchronization

/// The folder that media is kept in. Threads of its own wait for files to reach the disk. Bytes are written on the
/// transfers' thread as they come: a stalled disk holds up transfers, but no message beyond its time limit.
final class MediaFolder: Sendable {
    typealias Done = @Sendable (FileFailure?) -> Void

    let path: String
    let room: MediaRoom
    /// How many files may be open: those of transfers, and those that wait for the disk.
    private let limit: Int
    private let files = Atomic<Int>(0)
    private let complete = Mutex<[(file: PartialFile, media: Media, done: Done)]>([])
    private let queues = (0..<4).map { DispatchQueue(label: "pushmill.media.\($0)", qos: .utility) }
    private let turn = Atomic<Int>(0)
    private let tidying = DispatchQueue(label: "pushmill.media.tidy", qos: .utility)

    /// Creates the folder if it is missing, for its owner only. To let others read it, such as a web server's group,
    /// create it beforehand.
    init(
        path: String, capacity: Int = .max, files limit: Int = Descriptors.share, room: MediaRoom? = nil
    ) throws(FileFailure) {
        self.path = path
        self.room = room ?? MediaRoom(path: path, capacity: capacity)
        self.limit = limit
        try make()
        guard access(path, W_OK | X_OK) == 0 else { throw FileFailure(path: path, errno) }
    }

    private func make() throws(FileFailure) {
        var made = ""
        for part in path.split(separator: "/", omittingEmptySubsequences: false) {
            made += made.isEmpty && !part.isEmpty ? String(part) : "/\(part)"
            guard made != "/", mkdir(made, 0o700) != 0, errno != EEXIST else { continue }
            let number = errno
            guard access(made, F_OK) == 0 else { throw FileFailure(path: path, number) }
        }
    }

    func begin() throws(FileFailure) -> PartialFile { try PartialFile(in: self) }

    /// Whether one more file may be open; the caller must call `giveRoom` in either case.
    func takeRoom() -> Bool { files.add(1, ordering: .relaxed).newValue <= limit }

    func giveRoom() { files.subtract(1, ordering: .relaxed) }

    /// Keeps a complete file; calls `done` on another thread once that has succeeded or failed.
    func keep(_ file: PartialFile, as media: Media, _ done: @escaping Done) {
        complete.withLock { $0.append((file, media, done)) }
        let number = turn.add(1, ordering: .relaxed).newValue
        queues[number & 3].async { self.keepBatch() }
    }

    /// Files that came while the disk was busy share one sync of the folder.
    private func keepBatch() {
        let batch = complete.withLock { complete in
            defer { complete.removeFirst(min(complete.count, Self.batch)) }
            return Array(complete.prefix(Self.batch))
        }
        guard !batch.isEmpty else { return }
        let failures = batch.map { file, media, _ -> FileFailure? in
            do throws(FileFailure) { try file.name(media.name) } catch { return error }
            return nil
        }
        let failure = sync()
        for ((_, _, done), own) in zip(batch, failures) { done(own ?? failure) }
    }

    private static let batch = 32

    /// Nil once the names in the folder are on the disk.
    private func sync() -> FileFailure? {
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return FileFailure(path: path, errno) }
        defer { close(folder) }
        return fsync(folder) == 0 ? nil : FileFailure(path: path, errno)
    }

    func has(_ media: Media) -> Bool { access("\(path)/\(media.name)", F_OK) == 0 }

    /// Records on another thread that media is in use; calls `ifGone` if its file is gone.
    func touch(_ media: Media, ifGone: @escaping @Sendable () -> Void) {
        queues[0].async { [path] in
            if utimensat(AT_FDCWD, "\(path)/\(media.name)", nil, 0) != 0, errno == ENOENT { ifGone() }
        }
    }
}

extension MediaFolder {
    /// The state of a file at some time.
    struct Entry: Equatable {
        /// Caps `size`: media is far smaller, but a file that someone else put there may have any size, and any time.
        private static let most = 1 << 40

        let name: String
        let size: Int
        /// The last use in seconds since 1970, and the nanoseconds beyond.
        let used: Int
        let nanoseconds: Int

        /// Nil if there is no such regular file.
        fileprivate init?(_ name: String, in folder: String) {
            var status = stat()
            guard lstat("\(folder)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            self.name = name
            size = min(Int(status.st_size), Self.most)
            used = max(0, status.st_mtim.tv_sec)
            nanoseconds = status.st_mtim.tv_nsec
        }
    }

    /// A partial file without a write for this many seconds was left behind by a process that died.
    private static let patience = 2 * 3600

    /// Removes media that was not used for `age`, then the least recently used until the rest, partial files included,
    /// fits into `capacity`. Returns the names that are gone. Leaves other files alone; several processes may tidy one
    /// folder.
    func tidy(age: Duration, capacity: Int, now: Int = time(nil)) -> Set<String> {
        var gone: Set<String> = []
        var kept: [Entry] = []
        var total = 0
        var partial = 0
        room.beginCount()
        guard let entries = self.entries() else {
            room.counted(nil)
            return []
        }
        for listed in entries {
            // A clock that was ahead set its time: its age counts from now on.
            let entry = listed.used > now ? setTime(of: listed, to: now) : listed
            if entry.name.hasPrefix(PartialFile.prefix) {
                if now - entry.used > Self.patience {
                    unlink("\(path)/\(entry.name)")
                } else {
                    partial += entry.size
                }
            } else if .seconds(now - entry.used) > age {
                if remove(entry) { gone.insert(entry.name) }
            } else {
                kept.append(entry)
                total += entry.size
            }
        }
        for entry in kept.sorted(by: { $0.used < $1.used }) where total + partial > capacity {
            guard remove(entry) else { continue }
            gone.insert(entry.name)
            total -= entry.size
        }
        room.counted(total)
        return gone
    }

    /// Returns the file's state afterwards.
    private func setTime(of entry: Entry, to time: Int) -> Entry {
        let times = [timespec(tv_sec: time, tv_nsec: 0), timespec(tv_sec: time, tv_nsec: 0)]
        utimensat(AT_FDCWD, "\(path)/\(entry.name)", times, 0)
        return Entry(entry.name, in: path) ?? entry
    }

    /// Returns whether the file is gone. A file that was used or kept again since `entry` was read stays.
    func remove(_ entry: Entry) -> Bool {
        guard let current = Entry(entry.name, in: path) else { return true }
        return current == entry && (unlink("\(path)/\(entry.name)") == 0 || errno == ENOENT)
    }

    /// Nil if the folder cannot be read.
    func entries() -> [Entry]? {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else { return nil }
        return names.filter { Media(name: $0) != nil || $0.hasPrefix(PartialFile.prefix) }
            .compactMap { Entry($0, in: path) }
    }
}

/// Regular care, on one thread at a time.
extension MediaFolder {
    /// Tidies the folder once an hour and after much growth, and queries its disk every minute, until the folder is
    /// released. `onGone` is called on another thread.
    func care(_ settings: MediaSettings, onGone: @escaping @Sendable (Set<String>) -> Void) {
        let tidy: @Sendable () -> Void = { [weak self] in
            guard let gone = self?.tidy(age: settings.age, capacity: settings.capacity), !gone.isEmpty else { return }
            onGone(gone)
        }
        room.watch { [tidying] in tidying.async(execute: tidy) }
        look(0, tidy)
    }

    private func look(_ minute: Int, _ tidy: @escaping @Sendable () -> Void) {
        tidying.asyncAfter(deadline: .now() + (minute == 0 ? 0 : 60)) { [weak self] in
            if minute % 60 == 0 { tidy() } else { self?.room.askDisk() }
            self?.look(minute + 1, tidy)
        }
    }
}
