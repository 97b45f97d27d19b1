package import PushmillPayload

/// A stored media file, named by its content.
package struct Media: Sendable, Hashable {
    /// The file's name: the SHA-256 of its bytes as hex, and the type's extension.
    package let name: String
    package let type: MediaType
    /// In bytes; nil if only the name is known.
    package let size: Int?

    private static let hashLength = 64

    package init(hash: String, type: MediaType, size: Int) {
        name = "\(hash).\(type.fileExtension)"
        self.type = type
        self.size = size
    }

    /// Nil if it is not such a name.
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

/// The types that a notification can show, by Apple's list.
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

    /// The most bytes of this type that a device accepts.
    package var sizeLimit: Int {
        switch self {
        case .jpeg, .png, .gif: 10_000_000
        case .aiff, .wav, .mp3, .m4a: 5_000_000
        case .mpeg, .mp4, .avi: 50_000_000
        }
    }
}

/// Why there is no media. `reason` is what the stage reports after `failed:`.
package enum MediaFailure: Error, CaseIterable {
    case malformedURL, forbiddenHost, forbiddenAddress, unreachable, certificate, status, redirects, broken, tooLarge
    case unsupportedType, storage
    /// The message left without the media.
    case abandoned

    package var reason: StaticString {
        switch self {
        case .malformedURL: "url"
        case .forbiddenHost: "host"
        case .forbiddenAddress: "address"
        case .unreachable: "unreachable"
        case .certificate: "certificate"
        case .status: "status"
        case .redirects: "redirects"
        case .broken: "broken"
        case .tooLarge: "too-large"
        case .unsupportedType: "type"
        case .storage: "storage"
        case .abandoned: "abandoned"
        }
    }
}

/// Which media is fetched, and where and how long it is kept.
package struct MediaSettings: Sendable, Equatable {
    package var members: MediaMembers
    /// Its media files are named by `Media.name`; other files are left alone.
    package var folder: String
    package var hosts: [HostPattern]
    package var allowsHTTP = false
    /// How long a file is kept since its last use.
    package var age = Duration.seconds(168 * 3600)
    /// The most bytes of all files together.
    package var capacity = 10_000_000_000

    package init(_ members: MediaMembers, folder: String, hosts: [HostPattern]) {
        self.members = members
        self.folder = folder
        self.hosts = hosts
    }
}

/// Where media comes from. Used by all shards at once.
package protocol MediaSource: AnyObject, Sendable {
    /// The media at the URL, if known without waiting; nil if `media` has to be asked.
    func known(at url: String, for context: StageContext) throws(MediaFailure) -> Media?

    /// Returns the media at the URL once it is stored, without suspending if it is known. Honors cancellation. Nil if
    /// this source fetches nothing and does not know the media.
    func media(at url: String, for context: StageContext) async throws(MediaFailure) -> Media?
}

/// The members of a payload that describe media.
package struct MediaMembers: Sendable, Equatable {
    package var url: JSONPointer
    /// The type by its MIME name.
    package var type: JSONPointer?
    /// The number of bytes.
    package var size: JSONPointer?

    package init(url: JSONPointer) { self.url = url }
}

/// Hosts that media may come from: one name or address, `*.example.com` for all below a name, `*` for any. A port may
/// follow a colon; without one it is the scheme's own, 443 for https.
package struct HostPattern: Sendable, Hashable {
    /// In lower case.
    private let name: String
    private let port: UInt16?

    /// Nil if it is not such a pattern; a path is not allowed.
    package init?(_ text: String) {
        (name, port) = Self.split(text.lowercased())
        if name == "*" { return }
        let isBelow = name.hasPrefix("*.")
        let host = isBelow ? String(name.dropFirst(2)) : name
        let isAddress = host.hasPrefix("[") && host.hasSuffix("]") && !isBelow
        let letters = "abcdefghijklmnopqrstuvwxyz0123456789-._" + (isAddress ? ":[]" : "")
        let isLegal = host.utf8.allSatisfy { letters.utf8.contains($0) }
        guard isLegal, !host.isEmpty, !host.hasPrefix("."), !host.hasSuffix("."), !host.contains("..") else {
            return nil
        }
    }

    /// An invalid port stays in the name, which is then refused.
    private static func split(_ text: String) -> (name: String, port: UInt16?) {
        guard let colon = text.lastIndex(of: ":"), !text.hasSuffix("]") else { return (text, nil) }
        let digits = text[text.index(after: colon)...]
        guard let port = UInt16(digits), port > 0, "\(port)" == digits else { return (text, nil) }
        return (String(text[..<colon]), port)
    }

    /// `host` is in lower case; `isUsual` says that the port is the scheme's own.
    package func admits(_ host: String, port: Int, isUsual: Bool) -> Bool {
        guard self.port.map({ Int($0) == port }) ?? isUsual else { return false }
        guard name.hasPrefix("*") else { return host == name }
        // The asterisk stands for at least one character.
        return host.utf8.count >= name.utf8.count && host.hasSuffix(name.dropFirst())
    }
}

extension HostPattern: CustomStringConvertible {
    package var description: String { port.map { "\(name):\($0)" } ?? name }
}
