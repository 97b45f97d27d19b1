import Glibc
import PushmillStages
import Synchronization

/// A file that is being written under a name nobody asks for; gone with the value unless it was given its own.
final class PartialFile: Sendable {
    static let prefix = ".partial-"

    let descriptor: Int32
    private let folder: MediaFolder
    private let path: String
    private let size = Atomic<Int>(0)
    private let isKept = Atomic<Bool>(false)

    init(in folder: MediaFolder) throws(FileFailure) {
        self.folder = folder
        path = "\(folder.path)/\(Self.prefix)\(String(UInt64.random(in: 0 ... .max), radix: 16))"
        let mayOpen = folder.takeRoom()
        descriptor = mayOpen ? open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644) : -1
        guard descriptor >= 0 else { throw FileFailure(path: folder.path, mayOpen ? errno : EMFILE) }
        try folder.room.begin()
    }

    deinit {
        folder.giveRoom()
        folder.room.end(size.load(ordering: .relaxed), isKept: isKept.load(ordering: .relaxed))
        guard descriptor >= 0 else { return }
        unlink(path)
        close(descriptor)
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(FileFailure) {
        try folder.room.take(bytes.count)
        size.add(bytes.count, ordering: .relaxed)
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                throw FileFailure(path: folder.path, errno)
            }
        }
    }

    /// Gives it the name under which it is found, once all of it is on the disk. Takes as long as the disk does. The
    /// name itself is on the disk when the folder is.
    func name(_ name: String) throws(FileFailure) {
        guard fdatasync(descriptor) == 0, rename(path, "\(folder.path)/\(name)") == 0 else {
            throw FileFailure(path: folder.path, errno)
        }
        isKept.store(true, ordering: .relaxed)
    }
}
