import Glibc

/// A disk of 8 MB that a test can fill; unmounted when the value is released.
package final class SmallDisk: Sendable {
    package let folder: TemporaryFolder
    private var ballast: String { "\(folder.path)/ballast" }

    package static var mayMount: Bool { (try? SmallDisk()) != nil }

    package init() throws {
        folder = try TemporaryFolder()
        guard mount("tmpfs", folder.path, "tmpfs", 0, "size=8m") == 0 else { throw SystemFailure(errno) }
    }

    deinit { umount2(folder.path, Int32(MNT_DETACH)) }

    package func fill() throws {
        // O_CLOEXEC: a child process of another test would keep the space of the deleted file.
        let descriptor = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemFailure(errno) }
        defer { close(descriptor) }
        let block = [UInt8](repeating: 0, count: 4096)
        while write(descriptor, block, block.count) > 0 {}
    }

    package func makeRoom() { unlink(ballast) }
}
