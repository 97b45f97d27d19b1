/// What serves a recipient's list of locales. One object, so that a message holds on to one.
final class LocaleChoice: Sendable {
    let catalog: Catalog
    /// Of the catalog.
    let table: Int
    /// How the recipient's region writes the numbers in texts of the table's language; nil for the texts' own way.
    let numbers: NumberSymbols?

    init(catalog: Catalog, table: Int, numbers: NumberSymbols? = nil) {
        self.catalog = catalog
        self.table = table
        self.numbers = numbers
    }
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
