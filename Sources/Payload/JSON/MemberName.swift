import Glibc

/// The member names that stages look up again and again. The reader determines once which of them a member has.
enum MemberName: UInt8, BitwiseCopyable {
    /// Any other name, or none.
    case other
    case aps, alert, mutableContent, badge, category, threadIdentifier
    case title, subtitle, body
    case titleKey, subtitleKey, bodyKey
    case titleArguments, subtitleArguments, bodyArguments

    /// The index in `JSONStorage.latest`.
    var slot: Int { Int(rawValue & 15) }

    var text: StaticString {
        switch self {
        case .other: ""
        case .aps: "aps"
        case .alert: "alert"
        case .mutableContent: "mutable-content"
        case .badge: "badge"
        case .category: "category"
        case .threadIdentifier: "thread-id"
        case .title: "title"
        case .subtitle: "subtitle"
        case .body: "body"
        case .titleKey: "title-loc-key"
        case .subtitleKey: "subtitle-loc-key"
        case .bodyKey: "loc-key"
        case .titleArguments: "title-loc-args"
        case .subtitleArguments: "subtitle-loc-args"
        case .bodyArguments: "loc-args"
        }
    }

    /// For a name as spelled in JSON, without its quotes. Rarely needed, and too large for the reader's loop.
    @inline(never)
    init(escaped name: UnsafeBufferPointer<UInt8>) {
        self = JSONText.withUnescaped(name) { name in name.withUnsafeBufferPointer { MemberName($0) } }
    }

    /// Tells names apart by length and first byte, then compares with at most one known name. That one's length is
    /// known, so it is a comparison of words.
    init(_ text: UnsafeBufferPointer<UInt8>) {
        guard let name = text.baseAddress, text.count > 0 else {
            self = .other
            return
        }
        func orOther(_ candidate: MemberName) -> MemberName {
            let known = candidate.text
            return memcmp(name, known.utf8Start, known.utf8CodeUnitCount) == 0 ? candidate : .other
        }
        switch (text.count, name[0]) {
        case (3, UInt8(ascii: "a")): self = orOther(.aps)
        case (4, UInt8(ascii: "b")): self = orOther(.body)
        case (5, UInt8(ascii: "a")): self = orOther(.alert)
        case (5, UInt8(ascii: "b")): self = orOther(.badge)
        case (5, UInt8(ascii: "t")): self = orOther(.title)
        case (7, UInt8(ascii: "l")): self = orOther(.bodyKey)
        case (8, UInt8(ascii: "c")): self = orOther(.category)
        case (8, UInt8(ascii: "l")): self = orOther(.bodyArguments)
        case (8, UInt8(ascii: "s")): self = orOther(.subtitle)
        case (9, UInt8(ascii: "t")): self = orOther(.threadIdentifier)
        case (13, UInt8(ascii: "t")): self = orOther(.titleKey)
        case (14, UInt8(ascii: "t")): self = orOther(.titleArguments)
        case (15, UInt8(ascii: "m")): self = orOther(.mutableContent)
        case (16, UInt8(ascii: "s")): self = orOther(.subtitleKey)
        case (17, UInt8(ascii: "s")): self = orOther(.subtitleArguments)
        default: self = .other
        }
    }
}
