import Glibc
import Testing

/// A disk of 8 MB that can be filled, gone with the value.
final class SmallDisk: Sendable {
    private let folder: TemporaryFolder
    var path: String { folder.path }
    private var ballast: String { "\(path)/ballast" }

    static var mayMount: Bool { (try? SmallDisk()) != nil }

    init() throws {
        folder = try TemporaryFolder()
        guard mount("tmpfs", folder.path, "tmpfs", 0, "size=8m") == 0 else { throw SystemFailure(errno) }
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    func fill() throws {
        let descriptor = open(ballast, O_WRONLY | O_CREAT, 0o600)
        guard descriptor >= 0 else { throw SystemFailure(errno) }
        defer { close(descriptor) }
        let block = [UInt8](repeating: 0, count: 4096)
        while write(descriptor, block, block.count) > 0 {}
    }

    func makeRoom() { unlink(ballast) }
}
