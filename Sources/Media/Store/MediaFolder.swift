import Dispatch
import Glibc
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
        let results = batch.map { file, media, _ in
            Result { () throws(FileFailure) in try file.name(media.name) }
        }
        let folder = Result { () throws(FileFailure) in try sync() }
        for ((_, _, done), result) in zip(batch, results) {
            done(Self.failure(result) ?? Self.failure(folder))
        }
    }

    private static let batch = 32

    private static func failure(_ result: Result<Void, FileFailure>) -> FileFailure? {
        if case .failure(let failure) = result { failure } else { nil }
    }

    private func sync() throws(FileFailure) {
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw FileFailure(path: path, errno) }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw FileFailure(path: path, errno) }
    }

    func has(_ media: Media) -> Bool { access("\(path)/\(media.name)", F_OK) == 0 }

    /// Notes on another thread that media is in use; tells if it is gone.
    func touch(_ media: Media, ifGone: @escaping @Sendable () -> Void) {
        queues[0].async { [path] in
            if utimensat(AT_FDCWD, "\(path)/\(media.name)", nil, 0) != 0, errno == ENOENT { ifGone() }
        }
    }
}
