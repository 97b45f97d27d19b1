/// Every choice of a run comes from its seed: SplitMix64, the same sequence on every machine.
package struct Dice: Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed &* 0x2545_f491_4f6c_dd1d &+ 0x1234_5678_9abc_def1 }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    package mutating func below(_ count: Int) -> Int { Int(next().multipliedFullWidth(by: UInt64(count)).high) }

    package mutating func between(_ range: ClosedRange<Int>) -> Int { range.lowerBound + below(range.count) }

    /// Nanoseconds.
    package mutating func between(_ range: ClosedRange<UInt64>) -> UInt64 {
        range.lowerBound + next().multipliedFullWidth(by: range.upperBound - range.lowerBound + 1).high
    }

    /// True this many times in a thousand.
    package mutating func chance(_ perMille: Int) -> Bool { perMille > 0 && below(1000) < perMille }

    package mutating func pick<Element>(_ choices: [Element]) -> Element { choices[below(choices.count)] }

    package mutating func shuffle<Element>(_ elements: inout [Element]) {
        guard elements.count > 1 else { return }
        for index in (1..<elements.count).reversed() { elements.swapAt(index, below(index + 1)) }
    }

    /// An independent sequence: draws from it do not shift this one.
    package mutating func fork() -> Dice { Dice(seed: next()) }
}
