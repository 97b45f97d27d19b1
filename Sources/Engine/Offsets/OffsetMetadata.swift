/// What travels in the metadata of a commit: the offset that the commit names and the completed ones above it.
///
/// The text is base64url throughout, at most `limit` characters, never empty: `PMv` and the version, then a checksum, the
/// base and, where anything is completed, a form and its data. In version 2 these are a part, with its kind and its length
/// before it: a part of a kind that is not known is passed over where the kind is even. A bitmap has one bit an offset from base + 1; run lengths are pairs
/// (not done, done) in Exp-Golomb codes of two fitting orders, about 10 bits for each hole at one in a hundred.
package struct OffsetMetadata: Equatable, Sendable {
    /// Brokers refuse more than 4,096 bytes unless configured.
    package static let limit = 4_095
    /// With the version behind it, three bytes in base64url.
    static let mark = "PMv"
    static let completedPart: UInt64 = 1
    /// The most that the kind and the length of the part of completed offsets take.
    static let partHead = 3
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
        /// Ours, with a part that must not be passed over and is not known here.
        case part(UInt64)
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
