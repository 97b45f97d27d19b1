import PushmillStages

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

    enum Problem: Error {
        case refused(MediaFailure)
        case unwritable(FileFailure)
    }

    /// `announced`: how long it says it is, from its beginning; it is believed where it is too long.
    func add(_ bytes: UnsafeRawBufferPointer, announced: Int?) throws(Problem) {
        count += bytes.count
        guard type == nil else { return try append(bytes, announced) }
        head += bytes
        if head.count >= MediaType.headLength { try recognise(announced) }
    }

    private func recognise(_ announced: Int?) throws(Problem) {
        guard let type = MediaType(firstBytes: head) else { throw .refused(.unsupportedType) }
        self.type = type
        let head = head
        self.head = []
        try head.span.withUnsafeBytes { (bytes) throws(Problem) in try append(bytes, announced) }
    }

    private func append(_ bytes: UnsafeRawBufferPointer, _ announced: Int?) throws(Problem) {
        if let type, max(count, announced ?? 0) > type.sizeLimit { throw .refused(.tooLarge) }
        do throws(FileFailure) {
            if file == nil { file = try folder?.begin() }
            try file?.write(bytes)
            try hash.add(bytes)
        } catch {
            throw .unwritable(error)
        }
    }

    func finish() throws(Problem) -> Finished {
        if type == nil { try recognise(nil) }
        guard let type else { throw .refused(.unsupportedType) }
        do throws(FileFailure) {
            return Finished(media: Media(hash: try hash.end(), type: type, size: count), file: file.take())
        } catch {
            throw .unwritable(error)
        }
    }
}
