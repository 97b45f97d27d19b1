/// The tables found for the lists that came lately. As large as it will get from the start; what falls on the same place
/// takes it over.
struct LocaleChoices {
    private struct Choice {
        let wishes: [UInt8]
        let table: UInt16
    }

    private var places = [Choice?](repeating: nil, count: 4096)

    func table(for wishes: UnsafeBufferPointer<UInt8>) -> Int? {
        guard let choice = places[place(of: wishes)], choice.wishes.count == wishes.count,
            choice.wishes.elementsEqual(wishes)
        else { return nil }
        return Int(choice.table)
    }

    mutating func remember(_ table: Int, for wishes: UnsafeBufferPointer<UInt8>) {
        guard let table = UInt16(exactly: table) else { return }
        places[place(of: wishes)] = Choice(wishes: Array(wishes), table: table)
    }

    private func place(of wishes: UnsafeBufferPointer<UInt8>) -> Int {
        Int(truncatingIfNeeded: KeyIndex.hash(wishes)) & (places.count - 1)
    }
}
