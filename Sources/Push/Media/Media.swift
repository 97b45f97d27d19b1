/// Media that is kept, by what it is.
package struct Media: Sendable, Hashable {
    /// The file's name: the SHA-256 of its bytes as hex, and the type's extension.
    package let name: String
    package let type: MediaType
    /// In bytes; nil where only its name is known.
    package let size: Int?

    private static let hashLength = 64

    package init(hash: String, type: MediaType, size: Int) {
        name = "\(hash).\(type.fileExtension)"
        self.type = type
        self.size = size
    }

    /// Nil for what is no such name.
    package init?(name: String, size: Int? = nil) {
        let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].count == Self.hashLength,
            parts[0].allSatisfy({ "0123456789abcdef".utf8.contains($0) }),
            let type = MediaType.allCases.first(where: { $0.fileExtension.utf8.elementsEqual(parts[1]) })
        else { return nil }
        self.name = name
        self.type = type
        self.size = size
    }
}

/// What a notification can show, by Apple's list.
package enum MediaType: String, CaseIterable, Sendable {
    case jpeg = "image/jpeg"
    case png = "image/png"
    case gif = "image/gif"
    case aiff = "audio/aiff"
    case wav = "audio/wav"
    case mp3 = "audio/mpeg"
    case m4a = "audio/mp4"
    case mpeg = "video/mpeg"
    case mp4 = "video/mp4"
    case avi = "video/x-msvideo"

    package var fileExtension: String {
        switch self {
        case .jpeg: "jpg"
        case .png: "png"
        case .gif: "gif"
        case .aiff: "aiff"
        case .wav: "wav"
        case .mp3: "mp3"
        case .m4a: "m4a"
        case .mpeg: "mpg"
        case .mp4: "mp4"
        case .avi: "avi"
        }
    }

    /// The most bytes of it that a device takes.
    package var sizeLimit: Int {
        switch self {
        case .jpeg, .png, .gif: 10_000_000
        case .aiff, .wav, .mp3, .m4a: 5_000_000
        case .mpeg, .mp4, .avi: 50_000_000
        }
    }
}
