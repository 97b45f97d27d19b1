/// What serves a recipient's list of locales.
final class LocaleChoice: Sendable {
    /// Of the catalog.
    let table: Int
    /// The wish that the table serves, if it says how numbers are written.
    private let region: LocaleName?
    private let numbers: NumberSymbols?

    init(table: Int, wish: LocaleName? = nil) {
        self.table = table
        region = wish.flatMap { $0.region.isEmpty ? nil : $0 }
        numbers = region.flatMap(NumberSymbols.init)
    }

    /// How the recipient's region writes the numbers in a text of its own language; nil in any other.
    func numbers(in locale: LocaleName) -> NumberSymbols? { region?.language == locale.language ? numbers : nil }
}

/// The choices made for the lists that came lately. As large as it will get from the start; what falls on the same place
/// takes it over.
struct LocaleChoices {
    private struct Place {
        let wishes: [UInt8]
        let choice: LocaleChoice
    }

    private var places = [Place?](repeating: nil, count: 4096)

    func choice(for wishes: UnsafeBufferPointer<UInt8>) -> LocaleChoice? {
        guard let known = places[place(of: wishes)], known.wishes.count == wishes.count,
            known.wishes.elementsEqual(wishes)
        else { return nil }
        return known.choice
    }

    mutating func remember(_ choice: LocaleChoice, for wishes: UnsafeBufferPointer<UInt8>) {
        places[place(of: wishes)] = Place(wishes: Array(wishes), choice: choice)
    }

    private func place(of wishes: UnsafeBufferPointer<UInt8>) -> Int {
        Int(truncatingIfNeeded: KeyIndex.hash(wishes)) & (places.count - 1)
    }
}
