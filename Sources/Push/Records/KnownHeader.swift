import Glibc

/// The headers that a message's life depends on. Each record is looked through for them once.
enum KnownHeader: Int, CaseIterable {
    case locale, apnsTopic, apnsPushType, apnsExpiration, apnsCollapseID, apnsID, contentType, traceparent
    case outcome, source, stages, attempt, counted

    var name: StaticString {
        switch self {
        case .locale: "locale"
        case .apnsTopic: "apns-topic"
        case .apnsPushType: "apns-push-type"
        case .apnsExpiration: "apns-expiration"
        case .apnsCollapseID: "apns-collapse-id"
        case .apnsID: "apns-id"
        case .contentType: "content-type"
        case .traceparent: "traceparent"
        case .outcome: "pushmill-outcome"
        case .source: "pushmill-source"
        case .stages: "pushmill-stages"
        case .attempt: "pushmill-attempt"
        case .counted: "pushmill-counted"
        }
    }

    /// Tells most other names apart by their length and first byte alone.
    init?(_ name: UnsafeRawBufferPointer) {
        guard let first = name.first else { return nil }
        let found: KnownHeader?
        switch (name.count, first) {
        case (6, UInt8(ascii: "l")): found = .locale
        case (7, UInt8(ascii: "a")): found = .apnsID
        case (10, UInt8(ascii: "a")): found = .apnsTopic
        case (11, UInt8(ascii: "t")): found = .traceparent
        case (12, UInt8(ascii: "c")): found = .contentType
        case (14, UInt8(ascii: "a")): found = .apnsPushType
        case (15, UInt8(ascii: "a")): found = .apnsExpiration
        case (15, UInt8(ascii: "p")):
            found = name[9] == UInt8(ascii: "s") && name[10] == UInt8(ascii: "o") ? .source : .stages
        case (16, UInt8(ascii: "a")): found = .apnsCollapseID
        case (16, UInt8(ascii: "p")):
            switch name[9] {
            case UInt8(ascii: "o"): found = .outcome
            case UInt8(ascii: "a"): found = .attempt
            default: found = .counted
            }
        default: found = nil
        }
        guard let found, name.hasBytes(found.name) else { return nil }
        self = found
    }
}

extension UnsafeRawBufferPointer {
    func hasBytes(_ text: StaticString) -> Bool {
        hasBytes(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    func hasBytes(_ other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let start = baseAddress, let otherStart = other.baseAddress else { return true }
        return memcmp(start, otherStart, count) == 0
    }
}
