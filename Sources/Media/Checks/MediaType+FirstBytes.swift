import PushmillStages

extension MediaType {
    /// How many of the first bytes determine the type.
    static let headLength = 12

    /// The type of media with these first bytes, and these letters from its ninth byte on.
    private static let marks: [(type: MediaType, start: [UInt8], ninth: String)] = [
        (.jpeg, [0xFF, 0xD8, 0xFF], ""),
        (.png, [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], ""),
        (.gif, Array("GIF87a".utf8), ""), (.gif, Array("GIF89a".utf8), ""),
        (.aiff, Array("FORM".utf8), "AIFF"), (.aiff, Array("FORM".utf8), "AIFC"),
        (.wav, Array("RIFF".utf8), "WAVE"), (.avi, Array("RIFF".utf8), "AVI "),
        (.mpeg, [0, 0, 1, 0xBA], ""), (.mpeg, [0, 0, 1, 0xB3], ""),
        (.mp3, Array("ID3".utf8), ""),
    ]

    /// The type by content, regardless of any name or header. Nil for what no notification shows.
    init?(firstBytes head: [UInt8]) {
        let mark = Self.marks.first { head.starts(with: $0.start) && head.dropFirst(8).starts(with: $0.ninth.utf8) }
        if let mark {
            self = mark.type
        } else if head.dropFirst(4).starts(with: "ftyp".utf8), let type = Self(brand: head.dropFirst(8).prefix(4)) {
            self = type
        } else if Self.beginsFrame(head) {
            self = .mp3
        } else {
            return nil
        }
    }

    /// By the brand of an ISO base media file, a container that many formats share.
    private init?(brand: ArraySlice<UInt8>) {
        switch String(decoding: brand, as: UTF8.self) {
        case "M4A ", "M4B ": self = .m4a
        case "isom", "iso2", "iso3", "iso4", "iso5", "iso6", "mp41", "mp42", "avc1", "dash", "mmp4", "MSNV", "M4V ":
            self = .mp4
        default: return nil
        }
    }

    /// Whether a frame of MPEG audio, layer III, begins here, without reserved values in its header.
    private static func beginsFrame(_ head: [UInt8]) -> Bool {
        guard head.count >= 3, head[0] == 0xFF, head[1] & 0xE0 == 0xE0 else { return false }
        let (version, layer) = (head[1] >> 3 & 3, head[1] >> 1 & 3)
        let (rate, frequency) = (head[2] >> 4, head[2] >> 2 & 3)
        return version != 1 && layer == 1 && rate != 15 && frequency != 3
    }
}
