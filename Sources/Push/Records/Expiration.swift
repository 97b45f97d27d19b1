extension InputRecord {
    /// Whether `apns-expiration` (seconds since 1970) has passed. 0 and what is not a number never do.
    func hasExpired(at wallClock: Int64) -> Bool {
        guard let text = value(of: .apnsExpiration), let seconds = Self.number(text), seconds > 0 else { return false }
        let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return !overflow && milliseconds <= wallClock
    }

    /// How often the message has been a dead letter before.
    var attempt: Int64 { value(of: .attempt).flatMap(Self.number) ?? 0 }

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
