import Dispatch
import FoundationEssentials
import Glibc
import PushmillPayload
import PushmillStages
import Synchronization

/// Where media is kept. What waits until a file is on the disk waits on threads of its own. Its bytes are written on the
/// transfers' thread as they come: a disk that takes none holds up transfers, and no message beyond its time.
final class MediaFolder: Sendable {
    typealias Done = @Sendable (FileFailure?) -> Void

    let path: String
    let room: MediaRoom
    /// So many files may be open: those of transfers, and those that wait for the disk.
    private let limit: Int
    private let files = Atomic<Int>(0)
    private let complete = Mutex<[(file: PartialFile, media: Media, done: Done)]>([])
    private let queues = (0..<4).map { DispatchQueue(label: "pushmill.media.\($0)", qos: .utility) }
    private let turn = Atomic<Int>(0)
    private let tidying = DispatchQueue(label: "pushmill.media.tidy", qos: .utility)

    /// Makes it where it is missing, for its owner only: who else may read it, such as a web server's group, is said by
    /// making it beforehand.
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

    /// Whether one more file may be open; `giveRoom` is to be called in either case.
    func takeRoom() -> Bool { files.add(1, ordering: .relaxed).newValue <= limit }

    func giveRoom() { files.subtract(1, ordering: .relaxed) }

    /// Keeps a complete file; tells when that is done, on another thread.
    func keep(_ file: PartialFile, as media: Media, _ done: @escaping Done) {
        complete.withLock { $0.append((file, media, done)) }
        let number = turn.add(1, ordering: .relaxed).newValue
        queues[number & 3].async { self.keepBatch() }
    }

    /// What has come while the disk was busy shares the wait for the folder.
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

    /// Notes on another thread that media is in use; tells if it is gone.
    func touch(_ media: Media, ifGone: @escaping @Sendable () -> Void) {
        queues[0].async { [path] in
            if utimensat(AT_FDCWD, "\(path)/\(media.name)", nil, 0) != 0, errno == ENOENT { ifGone() }
        }
    }
}

extension MediaFolder {
    /// A file as it was at some time.
    struct Entry: Equatable {
        /// Media is smaller by far; what somebody else has put there may be of any size, and of any time.
        private static let most = 1 << 40

        let name: String
        let size: Int
        /// In seconds since 1970, and the rest of the last one.
        let used: Int
        let nanoseconds: Int

        /// Nil where there is none.
        fileprivate init?(_ name: String, in folder: String) {
            var status = stat()
            guard lstat("\(folder)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            self.name = name
            size = min(Int(status.st_size), Self.most)
            used = max(0, status.st_mtim.tv_sec)
            nanoseconds = status.st_mtim.tv_nsec
        }
    }

    /// A file that was begun so long ago was left behind by a process that died.
    private static let patience = 2 * 3600

    /// Removes what was not used for so long, then what was not used for the longest until the rest is small enough, files
    /// that are still coming in included.
    /// Gives the names that are gone. Other files are left alone; several processes may do this to one folder.
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
            // A clock that was ahead has left it: its age counts from now on.
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

    /// Gives the file as it is then.
    private func setTime(of entry: Entry, to time: Int) -> Entry {
        let times = [timespec(tv_sec: time, tv_nsec: 0), timespec(tv_sec: time, tv_nsec: 0)]
        utimensat(AT_FDCWD, "\(path)/\(entry.name)", times, 0)
        return Entry(entry.name, in: path) ?? entry
    }

    /// Whether it is gone now. What has been used or kept anew since it was looked at stays.
    func remove(_ entry: Entry) -> Bool {
        guard let current = Entry(entry.name, in: path) else { return true }
        return current == entry && (unlink("\(path)/\(entry.name)") == 0 || errno == ENOENT)
    }

    /// Nil where the folder cannot be read now.
    func entries() -> [Entry]? {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else { return nil }
        return names.filter { Media(name: $0) != nil || $0.hasPrefix(PartialFile.prefix) }
            .compactMap { Entry($0, in: path) }
    }
}

/// Its care, by one thread at a time.
extension MediaFolder {
    /// Keeps it within its bounds, once an hour and when much has come, and looks at its disk each minute, for as long as
    /// somebody has it. `onGone` is called on another thread.
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
