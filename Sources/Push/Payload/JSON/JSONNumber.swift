extension JSONDocument {
    /// The value of a number that is a whole one in `Int`'s range, however it is spelled (`100`, `1e2`, `100.0`).
    public func integer(of node: JSONNode) -> Int? {
        let record = records[value(of: node.index)]
        guard record.kind == .number else { return nil }
        return integer(Int(record.start)..<Int(record.end))
    }

    private func integer(_ range: Range<Int>) -> Int? {
        var digits = 0
        // Zeros that may yet turn out to stand before a further digit, or to be scaled away.
        var zeros = 0
        var fraction = 0
        var isFraction = false
        var at = range.lowerBound
        let isNegative = bytes[at] == UInt8(ascii: "-")
        if isNegative { at += 1 }
        while at < range.upperBound, bytes[at] | 0x20 != UInt8(ascii: "e") {
            let byte = bytes[at]
            at += 1
            if byte == UInt8(ascii: ".") {
                isFraction = true
                continue
            }
            if isFraction { fraction += 1 }
            if byte == UInt8(ascii: "0") {
                zeros += 1
                continue
            }
            guard let scaled = Self.scale(digits, zeros + 1) else { return nil }
            let (sum, isOver) = scaled.subtractingReportingOverflow(Int(byte - UInt8(ascii: "0")))
            guard !isOver else { return nil }
            digits = sum
            zeros = 0
        }
        guard digits != 0 else { return 0 }
        guard let exponent = exponent(at..<range.upperBound) else { return nil }
        // Digits are counted below zero, whose side reaches one further.
        guard let whole = Self.scale(digits, zeros - fraction + exponent) else { return nil }
        guard !isNegative else { return whole }
        return whole == .min ? nil : -whole
    }

    /// What stands after the digits: nothing, or `e` and a number.
    private func exponent(_ range: Range<Int>) -> Int? {
        guard !range.isEmpty else { return 0 }
        var at = range.lowerBound + 1
        let isNegative = bytes[at] == UInt8(ascii: "-")
        if isNegative || bytes[at] == UInt8(ascii: "+") { at += 1 }
        var exponent = 0
        while at < range.upperBound {
            // Beyond any text's length it no longer matters how far.
            exponent = min(exponent * 10 + Int(bytes[at] - UInt8(ascii: "0")), 1 << 40)
            at += 1
        }
        return isNegative ? -exponent : exponent
    }

    private static func scale(_ number: Int, _ power: Int) -> Int? {
        guard number != 0 else { return 0 }
        guard (0..<20).contains(power) else { return nil }
        var number = number
        for _ in 0..<power {
            let (product, isOver) = number.multipliedReportingOverflow(by: 10)
            guard !isOver else { return nil }
            number = product
        }
        return number
    }
}
