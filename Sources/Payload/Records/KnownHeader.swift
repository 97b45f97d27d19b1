import Glibc

/// The headers that the handling of a message depends on. Each record is searched for them once.
@usableFromInline
package enum KnownHeader: Int, CaseIterable {
    case recipient, locale, apnsTopic, apnsPushType, apnsExpiration, apnsCollapseID, apnsID, contentType, traceparent
    case outcome, source, stages, attempt, counted

    @inlinable
    package var name: StaticString {
        switch self {
        case .recipient: "recipient"
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

    /// Tells names apart by length and first byte, then compares with known names. Their length is known, so it is a
    /// comparison of words.
    init?(_ text: UnsafeRawBufferPointer) {
        guard let name = text.baseAddress, let first = text.first else { return nil }
        func orNone(_ candidate: KnownHeader) -> KnownHeader? {
            let known = candidate.name
            return memcmp(name, known.utf8Start, known.utf8CodeUnitCount) == 0 ? candidate : nil
        }
        let found: KnownHeader?
        switch (text.count, first) {
        case (6, UInt8(ascii: "l")): found = orNone(.locale)
        case (7, UInt8(ascii: "a")): found = orNone(.apnsID)
        case (9, UInt8(ascii: "r")): found = orNone(.recipient)
        case (10, UInt8(ascii: "a")): found = orNone(.apnsTopic)
        case (11, UInt8(ascii: "t")): found = orNone(.traceparent)
        case (12, UInt8(ascii: "c")): found = orNone(.contentType)
        case (14, UInt8(ascii: "a")): found = orNone(.apnsPushType)
        case (15, UInt8(ascii: "a")): found = orNone(.apnsExpiration)
        case (15, UInt8(ascii: "p")): found = orNone(.source) ?? orNone(.stages)
        case (16, UInt8(ascii: "a")): found = orNone(.apnsCollapseID)
        case (16, UInt8(ascii: "p")): found = orNone(.outcome) ?? orNone(.attempt) ?? orNone(.counted)
        default: found = nil
        }
        guard let found else { return nil }
        self = found
    }
}

extension UnsafeRawBufferPointer {
    package func hasBytes(_ text: StaticString) -> Bool {
        hasBytes(text.bytes)
    }

    @usableFromInline
    package func hasBytes(_ other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let start = baseAddress, let otherStart = other.baseAddress else { return true }
        return memcmp(start, otherStart, count) == 0
    }
}

/// Writes header values without a `String` in between.
extension [UInt8] {
    package mutating func append(_ text: StaticString) { append(contentsOf: text.bytes) }

    /// Like `append(contentsOf:)`, which would retain the array.
    package mutating func append(bytesOf other: [UInt8]) { other.withUnsafeBufferPointer { append(contentsOf: $0) } }

    package mutating func append(decimal number: some BinaryInteger) {
        append(upTo: DecimalText.capacity) { DecimalText.write(Int64(clamping: number), to: $0) }
    }

    /// A source in parts: as a whole, its topic would be retained.
    mutating func append(_ prefix: UnsafeRawBufferPointer, _ partition: Int32, _ offset: Int64) {
        append(upTo: prefix.count + 2 * DecimalText.capacity + 1) { start in
            if let name = prefix.baseAddress {
                UnsafeMutableRawPointer(start).copyMemory(from: name, byteCount: prefix.count)
            }
            let start = start + prefix.count
            let slash = DecimalText.write(Int64(partition), to: start)
            start[slash] = UInt8(ascii: "/")
            return prefix.count + slash + 1 + DecimalText.write(offset, to: start + slash + 1)
        }
    }

    /// Appends up to `capacity` bytes, which `write` writes; it returns their number.
    @inlinable
    @inline(__always)
    package mutating func append(upTo capacity: Int, _ write: (UnsafeMutablePointer<UInt8>) -> Int) {
        append(addingCapacity: capacity) { output in
            output.withUnsafeMutableBufferPointer { memory, count in
                if let start = memory.baseAddress { count = write(start) }
            }
        }
    }
}

/// Numbers as decimal digits.
@usableFromInline
package enum DecimalText {
    /// The bytes of the longest number.
    package static let capacity = 20

    /// The number of these digits; nil if there are none, for any other character, and beyond 64 bits.
    @inlinable
    package static func read(_ digits: some Collection<UInt8>) -> UInt64? {
        guard !digits.isEmpty else { return nil }
        var number: UInt64 = 0
        for byte in digits {
            let digit = UInt64(byte &- UInt8(ascii: "0"))
            let (tens, isOver) = number.multipliedReportingOverflow(by: 10)
            let (sum, isBeyond) = tens.addingReportingOverflow(digit)
            guard digit < 10, !isOver, !isBeyond else { return nil }
            number = sum
        }
        return number
    }

    /// Returns the number of bytes.
    package static func write(_ number: Int64, to output: UnsafeMutablePointer<UInt8>) -> Int {
        var rest = number.magnitude
        var count = number < 0 ? 2 : 1
        var left = rest / 10
        while left > 0 {
            left /= 10
            count &+= 1
        }
        var at = count
        repeat {
            let tenth = rest / 10
            at &-= 1
            output[at] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest &- tenth &* 10)
            rest = tenth
        } while rest > 0
        if number < 0 { output[0] = UInt8(ascii: "-") }
        return count
    }
}

extension InputRecord {
    /// Whether `apns-expiration` (seconds since 1970) has passed. 0 and text that is not a number never expire.
    package func hasExpired(at wallClock: Int64) -> Bool {
        guard let text = value(of: .apnsExpiration), let seconds = Self.number(text), seconds > 0 else { return false }
        let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return !overflow && milliseconds <= wallClock
    }

    /// How many times the message has been a dead letter before.
    package var attempt: Int64 { value(of: .attempt).flatMap(Self.number) ?? 0 }

    private static func number(_ text: UnsafeRawBufferPointer) -> Int64? {
        DecimalText.read(text).flatMap { Int64(exactly: $0) }
    }
}
