/// What a translation expects of its arguments: for each of them two bits.
package struct FormatSignature: Sendable, Equatable {
    package enum Kind: UInt64, Sendable {
        case unused, text, integer, float
    }

    private var bits: UInt64 = 0

    /// How many arguments there must be.
    package var count: Int { (65 - bits.leadingZeroBitCount) / 2 }

    package subscript(position: Int) -> Kind { Kind(rawValue: bits >> UInt64(2 * position) & 3) ?? .unused }

    /// An argument used twice is what asks more of it.
    mutating func use(_ position: Int, as kind: Kind) {
        guard self[position].rawValue < kind.rawValue else { return }
        bits &= ~(3 << UInt64(2 * position))
        bits |= kind.rawValue << UInt64(2 * position)
    }
}

extension FormatSignature: CustomStringConvertible {
    package var description: String {
        let kinds = (0..<count).map { "%\($0 + 1)$\(self[$0].specifier)" }
        return kinds.isEmpty ? "no arguments" : kinds.joined(separator: " ")
    }
}

extension FormatSignature.Kind {
    /// The specifier that is written for it, as a rule.
    fileprivate var specifier: String {
        switch self {
        case .unused: "(unused)"
        case .text: "@"
        case .integer: "d"
        case .float: "f"
        }
    }
}
