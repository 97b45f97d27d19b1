import Dispatch
import Glibc
import Synchronization

/// The room of the file system that media is kept on. Looked at now and then on a queue of its own: a disk that does not
/// answer holds up nobody who asks.
final class DiskRoom: Sendable {
    private static let interval = 10.0

    private let path: String
    private let queue = DispatchQueue(label: "pushmill.media.room", qos: .utility)
    private let latest = Mutex<(free: Int, size: Int)?>(nil)

    init(of path: String) {
        self.path = path
        look()
        again()
    }

    /// In bytes: what is free for this process, and all there is. Nil while nothing is known.
    var bytes: (free: Int, size: Int)? { latest.withLock { $0 } }

    private func again() {
        queue.asyncAfter(deadline: .now() + Self.interval) { [weak self] in
            self?.look()
            self?.again()
        }
    }

    private func look() {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return }
        let block = Int(status.f_frsize)
        latest.withLock { $0 = (Int(status.f_bavail) * block, Int(status.f_blocks) * block) }
    }
}
