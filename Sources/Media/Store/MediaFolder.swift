import Dispatch
import Glibc
import Push
import Synchronization

/// Where media is kept. What waits for the disk waits on threads of its own; how long depends on nothing else.
final class MediaFolder: Sendable {
    let path: String
    /// Each waits for one file at a time.
    private let queues = (0..<4).map { DispatchQueue(label: "pushmill.media.\($0)", qos: .utility) }
    private let turn = Atomic<Int>(0)

    /// Makes it where it is missing.
    init(path: String) throws(FileFailure) {
        self.path = path
        try make()
        guard access(path, W_OK | X_OK) == 0 else { throw FileFailure(path: path, errno) }
    }

    private func make() throws(FileFailure) {
        var made = ""
        for part in path.split(separator: "/", omittingEmptySubsequences: false) {
            made += made.isEmpty && !part.isEmpty ? String(part) : "/\(part)"
            guard made != "/", mkdir(made, 0o755) != 0, errno != EEXIST else { continue }
            let number = errno
            guard access(made, F_OK) == 0 else { throw FileFailure(path: path, number) }
        }
    }

    func begin() throws(FileFailure) -> PartialFile { try PartialFile(in: path) }

    /// Keeps a complete file; tells when that is done, on another thread.
    func keep(_ file: PartialFile, as media: Media, _ done: @escaping @Sendable (FileFailure?) -> Void) {
        let number = turn.add(1, ordering: .relaxed).newValue
        queues[number & 3].async {
            do throws(FileFailure) {
                try file.name(media.name)
                done(nil)
            } catch {
                done(error)
            }
        }
    }

    /// Notes on another thread that media is in use; tells if it is gone.
    func touch(_ media: Media, ifGone: @escaping @Sendable () -> Void) {
        queues[0].async { [path] in
            if utimensat(AT_FDCWD, "\(path)/\(media.name)", nil, 0) != 0, errno == ENOENT { ifGone() }
        }
    }
}
