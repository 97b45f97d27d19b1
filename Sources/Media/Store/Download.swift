import Glibc
import PushmillCiphers
import PushmillPayload
import PushmillStages
import Synchronization

/// Media that is coming in: its type is known by its first bytes, its size is held to the type's limit, its hash grows
/// with it. Belongs to one thread.
final class Download {
    /// Whole media, not kept yet. Without a file where nothing is kept.
    struct Finished: Sendable {
        let media: Media
        let file: PartialFile?
    }

    private let folder: MediaFolder?
    private let hash: ContentHash
    private(set) var count = 0
    private var head: [UInt8] = []
    private var type: MediaType?
    private var file: PartialFile?

    init(into folder: MediaFolder?) throws(FileFailure) {
        self.folder = folder
        hash = try ContentHash()
    }

    /// `announced`: how long it says it is, from its beginning; it is believed where it is too long. Throws a
    /// `MediaFailure`, or the folder's `FileFailure`.
    func add(_ bytes: UnsafeRawBufferPointer, announced: Int?) throws {
        count += bytes.count
        guard type == nil else { return try append(bytes, announced) }
        head += bytes
        if head.count >= MediaType.headLength { try recognise(announced) }
    }

    private func recognise(_ announced: Int?) throws {
        guard let type = MediaType(firstBytes: head) else { throw MediaFailure.unsupportedType }
        self.type = type
        try exchange(&head, with: []).withUnsafeBytes { try append($0, announced) }
    }

    private func append(_ bytes: UnsafeRawBufferPointer, _ announced: Int?) throws {
        if let type, max(count, announced ?? 0) > type.sizeLimit { throw MediaFailure.tooLarge }
        if file == nil { file = try folder?.begin() }
        try file?.write(bytes)
        hash.add(bytes)
    }

    func finish() throws -> Finished {
        if type == nil { try recognise(nil) }
        guard let type else { throw MediaFailure.unsupportedType }
        return Finished(media: Media(hash: hash.end(), type: type, size: count), file: file.take())
    }
}

/// A file that is being written under a name nobody asks for; gone with the value unless it was given its own.
final class PartialFile: Sendable {
    static let prefix = ".partial-"

    let descriptor: Int32
    private let folder: MediaFolder
    private let path: String
    private let size = Atomic<Int>(0)
    /// It has a name that no file had before.
    private let isNew = Atomic<Bool>(false)

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
        folder.room.end(size.load(ordering: .relaxed), isNew: isNew.load(ordering: .relaxed))
        guard descriptor >= 0 else { return }
        unlink(path)
        close(descriptor)
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(FileFailure) {
        try folder.room.take(bytes.count)
        size.add(bytes.count, ordering: .relaxed)
        guard writeAll(bytes, to: descriptor) else { throw FileFailure(path: folder.path, errno) }
    }

    /// Gives it the name under which it is found, once all of it is on the disk. Takes as long as the disk does. The
    /// name itself is on the disk when the folder is.
    func name(_ name: String) throws(FileFailure) {
        let target = "\(folder.path)/\(name)"
        let isNew = access(target, F_OK) != 0
        guard fdatasync(descriptor) == 0, rename(path, target) == 0 else {
            throw FileFailure(path: folder.path, errno)
        }
        // In the place of the same media it adds nothing to what is kept.
        self.isNew.store(isNew, ordering: .relaxed)
    }
}
