import Glibc

/// The headers that a message's life depends on. Each record is looked through for them once.
@usableFromInline
package enum KnownHeader: Int, CaseIterable {
    case locale, apnsTopic, apnsPushType, apnsExpiration, apnsCollapseID, apnsID, contentType, traceparent
    case outcome, source, stages, attempt, counted

    @inlinable
    package var name: StaticString {
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
    package func hasBytes(_ text: StaticString) -> Bool {
        hasBytes(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @usableFromInline
    package func hasBytes(_ other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let start = baseAddress, let otherStart = other.baseAddress else { return true }
        return memcmp(start, otherStart, count) == 0
    }
}

/// How header values are written, without a `String` on the way.
extension [UInt8] {
    package mutating func append(_ text: StaticString) { append(contentsOf: text.bytes) }

    /// As `append(contentsOf:)`, which takes hold of an array.
    package mutating func append(bytesOf other: [UInt8]) { other.withUnsafeBufferPointer { append(contentsOf: $0) } }

    package mutating func append(decimal number: some BinaryInteger) {
        append(addingCapacity: DecimalText.capacity) { output in
            output.withUnsafeMutableBufferPointer { memory, count in
                guard let start = memory.baseAddress else { return }
                count += DecimalText.write(Int64(clamping: number), to: start + count)
            }
        }
    }

    mutating func append(_ source: Source) {
        append(bytesOf: source.topic.prefix)
        append(decimal: source.partition)
        append(UInt8(ascii: "/"))
        append(decimal: source.offset)
    }
}

/// Numbers as decimal digits.
enum DecimalText {
    /// What the longest takes.
    static let capacity = 20

    /// Gives the number of bytes.
    static func write(_ number: Int64, to output: UnsafeMutablePointer<UInt8>) -> Int {
        var digits = InlineArray<20, UInt8>(repeating: UInt8(ascii: "-"))
        var start = 20
        var rest = number.magnitude
        repeat {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            start -= 1
            digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit)
            rest = quotient
        } while rest > 0
        if number < 0 { start -= 1 }
        for index in start..<20 { output[index - start] = digits[index] }
        return 20 - start
    }
}

extension InputRecord {
    /// Whether `apns-expiration` (seconds since 1970) has passed. 0 and what is not a number never do.
    package func hasExpired(at wallClock: Int64) -> Bool {
        guard let text = value(of: .apnsExpiration), let seconds = Self.number(text), seconds > 0 else { return false }
        let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return !overflow && milliseconds <= wallClock
    }

    /// How often the message has been a dead letter before.
    package var attempt: Int64 { value(of: .attempt).flatMap(Self.number) ?? 0 }

    /// A whole number of digits alone.
    private static func number(_ text: UnsafeRawBufferPointer) -> Int64? {
        guard !text.isEmpty else { return nil }
        var number: Int64 = 0
        for byte in text {
            guard (0x30...0x39).contains(byte) else { return nil }
            let (scaled, isOver) = number.multipliedReportingOverflow(by: 10)
            let (sum, isBeyond) = scaled.addingReportingOverflow(Int64(byte - 0x30))
            guard !isOver, !isBeyond else { return nil }
            number = sum
        }
        return number
    }
}
