import Dispatch
import FoundationEssentials
import Glibc
import Synchronization

/// Reloads files and folders, on one background thread. It polls, because mounted configuration and network file
/// systems do not announce changes.
package final class FileWatcher: Sendable {
    private let queue = DispatchQueue(label: "pushmill.reload", qos: .utility)
    package typealias Report = @Sendable (_ path: String, _ stage: String?, ReloadOutcome) -> Void

    private let watched = Mutex<[(file: any Reloadable, stage: String?)]>([])
    private let report: Report
    /// A request waits for its turn: later ones need none of their own.
    private let isRequested = Atomic(false)

    /// `report` is called for every reload and every failure, on the background thread.
    package init(report: @escaping Report) { self.report = report }

    /// `stage` is the name of the stage that uses the file.
    package func add(_ file: any Reloadable, of stage: String? = nil) {
        watched.withLock { $0.append((file, stage)) }
    }

    /// The paths of all watched files.
    package var paths: [String] { watched.withLock { $0.map(\.file.path) } }

    /// Polls until the watcher is released.
    package func start(every interval: Duration = .seconds(1)) {
        let seconds = interval / .seconds(1)
        queue.asyncAfter(deadline: .now() + seconds) { [weak self] in
            guard let self else { return }
            reload(.poll)
            start(every: interval)
        }
    }

    /// Soon calls `first`, then rereads everything, changed or not; both on the background thread, and once for all
    /// requests that come before they begin.
    package func reloadAll(after first: @escaping @Sendable () -> Void = {}) {
        guard !isRequested.exchange(true, ordering: .sequentiallyConsistent) else { return }
        queue.async {
            self.isRequested.store(false, ordering: .sequentiallyConsistent)
            first()
            self.reload(.request)
        }
    }

    private func reload(_ cause: ReloadCause) {
        for (file, stage) in watched.withLock({ $0 }) {
            let outcome = file.reload(cause)
            if outcome != .unchanged { report(file.path, stage, outcome) }
        }
    }
}

/// Tells a changed file from an unchanged one without reading it. A folder's fingerprint covers all that is in it.
struct FileFingerprint: Equatable, Sendable {
    private(set) var entries: [Entry] = []

    struct Entry: Equatable, Sendable {
        let path: String
        let inode: UInt64
        /// The permissions: a file that could not be read is read again once they are fixed.
        let mode: UInt32
        let owner: UInt32
        let group: UInt32
        let size: Int64
        let modified: Int64
        let modifiedNanoseconds: Int64
    }

    /// Follows links: swapping the link of a mounted secret must count as a change. A missing or unreadable file has a
    /// fingerprint too, which changes when the file comes back.
    init(of path: String) {
        var folders: Set<[UInt64]> = []
        add(path, depth: 0, &folders)
    }

    /// The path of a pipe among the entries, if any: opening it would wait for a writer, maybe forever.
    var pipe: String? { entries.first { $0.mode & S_IFMT == S_IFIFO }?.path }

    /// `folders` are those visited already, by device and inode.
    private mutating func add(_ path: String, depth: Int, _ folders: inout Set<[UInt64]>) {
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        entries.append(
            Entry(
                path: path, inode: UInt64(status.st_ino), mode: status.st_mode, owner: status.st_uid,
                group: status.st_gid, size: Int64(status.st_size),
                modified: Int64(status.st_mtim.tv_sec), modifiedNanoseconds: Int64(status.st_mtim.tv_nsec)))
        // Links can form cycles, or reach one folder on very many paths; no catalog is that deep.
        guard status.st_mode & S_IFMT == S_IFDIR, depth < 8,
            folders.insert([UInt64(status.st_dev), UInt64(status.st_ino)]).inserted
        else { return }
        for child in (try? FileManager.default.contentsOfDirectory(atPath: path))?.sorted() ?? [] {
            add("\(path)/\(child)", depth: depth + 1, &folders)
        }
    }
}
