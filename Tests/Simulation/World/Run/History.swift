/// What happened in a run: always as a digest that differs if anything differs, and as text lines if they are kept.
package final class History {
    package enum What: UInt8 {
        case start, produce, append, refuse, marker, commit, commitRefused, transactionalCommit, transactionEnd
        case fence, join, generation, memberGone, assigned, revoked, lost, read, seek, begin, publish
        case fenced, kill, freeze, thaw, terminate, cut, heal, replaced, compact, ended, purge, step
    }

    package let isKept: Bool
    package private(set) var digest: UInt64 = 0xcbf2_9ce4_8422_2325
    package private(set) var lines: [String] = []
    /// The name that lines give to an actor's number.
    package var name: (Int) -> String = { "\($0)" }

    package init(isKept: Bool) { self.isKept = isKept }

    func add(_ time: UInt64, _ who: Int, _ what: What, _ first: Int64, _ second: Int64, _ third: Int64) {
        fold(time)
        fold(UInt64(truncatingIfNeeded: who) << 8 | UInt64(what.rawValue))
        fold(UInt64(bitPattern: first))
        fold(UInt64(bitPattern: second) &* 31 &+ UInt64(bitPattern: third))
        guard isKept else { return }
        lines.append("\(Self.text(time))  \(name(who)): \(what) \(first) \(second) \(third)")
    }

    /// Adds a line with details, which does not change the digest.
    package func tell(_ time: UInt64, _ who: Int, _ text: @autoclosure () -> String) {
        guard isKept else { return }
        lines.append("\(Self.text(time))  \(name(who)): \(text())")
    }

    private func fold(_ value: UInt64) {
        digest = (digest ^ value) &* 0x9e37_79b9_7f4a_7c15
        digest ^= digest >> 29
    }

    /// Seconds with six decimal places.
    private static func text(_ time: UInt64) -> String {
        let micros = time / 1_000
        let rest = "\(micros % 1_000_000)"
        let seconds = "\(micros / 1_000_000)"
        return String(repeating: " ", count: max(0, 4 - seconds.count)) + seconds + "."
            + String(repeating: "0", count: 6 - rest.count) + rest
    }
}
