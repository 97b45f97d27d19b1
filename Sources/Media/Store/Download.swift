import Glibc
import PushmillCiphers
import PushmillPayload
import PushmillStages
import Synchronization

/// Media that is coming in. Its first bytes determine its type, the type limits its size, and its hash is computed as
/// bytes come. Belongs to one thread.
final class Download {
    /// Complete media that is not kept yet. `file` is nil if nothing is kept.
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

    /// `announced` is the length of the whole as the server announces it; it counts only if it is too large. Throws a
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

/// A file that is being written under a temporary name; removed with the value unless `name` has renamed it.
final class PartialFile: Sendable {
    static let prefix = ".partial-"

    let descriptor: Int32
    private let folder: MediaFolder
    private let path: String
    private let size = Atomic<Int>(0)
    /// It was given a name that no file had before.
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

    /// Renames the file to its final name once all of it is on the disk, which blocks for as long as the disk takes.
    /// The name itself is on the disk when the folder is synced.
    func name(_ name: String) throws(FileFailure) {
        let target = "\(folder.path)/\(name)"
        let isNew = access(target, F_OK) != 0
        guard fdatasync(descriptor) == 0, rename(path, target) == 0 else {
            throw FileFailure(path: folder.path, errno)
        }
        // Media that replaces the same media adds nothing to what is kept.
        self.isNew.store(isNew, ordering: .relaxed)
    }
}
