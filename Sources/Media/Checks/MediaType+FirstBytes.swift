import PushmillStages

extension MediaType {
    /// So many bytes tell.
    static let headLength = 12

    /// What the bytes are, whatever anybody calls them. Nil for what no notification shows.
    init?(firstBytes head: [UInt8]) {
        func has(_ bytes: [UInt8], at start: Int = 0) -> Bool { head.dropFirst(start).starts(with: bytes) }
        func has(_ text: StaticString, at start: Int) -> Bool {
            text.withUTF8Buffer { head.dropFirst(start).starts(with: $0) }
        }

        if has([0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if has([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if has("GIF87a", at: 0) || has("GIF89a", at: 0) {
            self = .gif
        } else if has("FORM", at: 0), has("AIFF", at: 8) || has("AIFC", at: 8) {
            self = .aiff
        } else if has("RIFF", at: 0), has("WAVE", at: 8) {
            self = .wav
        } else if has("RIFF", at: 0), has("AVI ", at: 8) {
            self = .avi
        } else if has("ftyp", at: 4), let type = Self(brand: head.dropFirst(8).prefix(4)) {
            self = type
        } else if has([0, 0, 1, 0xBA]) || has([0, 0, 1, 0xB3]) {
            self = .mpeg
        } else if has("ID3", at: 0) || Self.beginsFrame(head) {
            self = .mp3
        } else {
            return nil
        }
    }

    /// The brand of an ISO base media file: many formats are one by their frame.
    private init?(brand: ArraySlice<UInt8>) {
        switch String(decoding: brand, as: UTF8.self) {
        case "M4A ", "M4B ": self = .m4a
        case "isom", "iso2", "iso3", "iso4", "iso5", "iso6", "mp41", "mp42", "avc1", "dash", "mmp4", "MSNV", "M4V ":
            self = .mp4
        default: return nil
        }
    }

    /// A frame of MPEG audio, layer III, with nothing in its header that is reserved.
    private static func beginsFrame(_ head: [UInt8]) -> Bool {
        guard head.count >= 3, head[0] == 0xFF, head[1] & 0xE0 == 0xE0 else { return false }
        let (version, layer) = (head[1] >> 3 & 3, head[1] >> 1 & 3)
        let (rate, frequency) = (head[2] >> 4, head[2] >> 2 & 3)
        return version != 1 && layer == 1 && rate != 15 && frequency != 3
    }
}
