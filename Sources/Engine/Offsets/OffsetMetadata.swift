/// What travels in the metadata of a commit: the offset that the commit names and the completed ones above it.
///
/// The text is base64url throughout, at most `limit` characters, never empty: `PMv1`, then a checksum, the base and,
/// where anything is completed, a form and its data. A bitmap has one bit an offset from base + 1; run lengths are pairs
/// (not done, done) in Exp-Golomb codes of two fitting orders, about 10 bits for each hole at one in a hundred.
package struct OffsetMetadata: Equatable, Sendable {
    /// Brokers refuse more than 4,096 bytes unless configured.
    package static let limit = 4_095
    /// Three bytes in base64url; the last character is the version.
    static let mark = "PMv1"
    static let checksumSize = 4
    static let largestOrder = 40

    /// How the completed offsets are written.
    enum Form: UInt8 {
        case bitmap = 1
        case runs = 2
    }

    package enum Rejection: Error, Equatable, Sendable {
        /// Empty, or written by something else.
        case foreign
        /// Ours, of a version that is not known here.
        case version(Character)
        case corrupt
        /// Ours, but the committed offset is another than it was written for: someone set it on purpose.
        case otherBase(Int64)
    }

    package let base: Int64
    /// In ascending order, none empty, none touching the next, all above the base.
    package let completed: [Range<Int64>]

    package init(base: Int64, completed: [Range<Int64>]) {
        self.base = base
        self.completed = completed
    }

    /// FNV-1a: a set that lies about one offset loses a message.
    static func checksum(of body: some Sequence<UInt8>) -> UInt32 {
        body.reduce(2_166_136_261) { ($0 ^ UInt32($1)) &* 16_777_619 }
    }
}
