import CPushmillAllocations

/// The translations of an app, one table for each locale. Immutable: a reload makes a new one.
package final class Catalog: Sendable {
    let tables: [LocaleTable]
    private let matcher: LocaleMatcher
    /// For each table, the tables to search in order: itself, its truncations, the default.
    fileprivate let searches: [[LocaleSearch]]
    fileprivate let defaultTable: Int
    package let warnings: [CatalogProblem]

    /// Reads a folder; throws everything that is wrong with it.
    package convenience init(folder: String, defaultLocale: LocaleName) throws(CatalogError) {
        let read = CatalogReader.read(folder: folder, base: defaultLocale)
        guard read.problems.isEmpty else { throw CatalogError(problems: read.problems) }
        try self.init(read.tables, of: folder, defaultLocale: defaultLocale, warnings: read.warnings)
    }

    package init(
        _ tables: [LocaleTable], of folder: String, defaultLocale: LocaleName, warnings: [CatalogProblem] = []
    ) throws(CatalogError) {
        guard let defaultTable = tables.firstIndex(where: { $0.locale == defaultLocale }) else {
            let message = "no texts in the default locale \(defaultLocale)"
            throw CatalogError(problems: [CatalogProblem(file: folder, message: message)])
        }
        self.tables = tables
        self.warnings = warnings
        self.defaultTable = defaultTable
        matcher = LocaleMatcher(tables.map(\.locale))
        searches = tables.map { table in
            let truncations = table.locale.truncations.compactMap { name in tables.first { $0.locale == name } }
            let ownLanguage = [table] + truncations
            let last = tables[defaultTable]
            let all = ownLanguage.contains { $0 === last } ? ownLanguage : ownLanguage + [last]
            return all.map {
                LocaleSearch(
                    table: .passUnretained($0), isOfItsLanguage: $0.locale.language == table.locale.language)
            }
        }
        // Reading took twice the memory of its result: free memory goes back to the system.
        pushmill_allocations_give_back()
    }

    /// The choice for recipients whose wishes cannot be served.
    package var defaultChoice: LocaleChoice { LocaleChoice(catalog: self, table: defaultTable) }

    /// The most bytes of a list of wishes. No person's list is longer.
    package static let longestWishes = 512

    /// What serves a BCP 47 tag or an Accept-Language list. Takes microseconds for each tag: `LocalizeStage` caches
    /// what comes of it.
    package func match(for wishes: UnsafeBufferPointer<UInt8>) -> LocaleMatch {
        guard !wishes.isEmpty, wishes.count <= Self.longestWishes else { return LocaleMatch(table: defaultTable) }
        let match = matcher.bestMatch(for: wishes)
        // Without a match, too, numbers are written as where the reader is.
        return LocaleMatch(
            table: match?.index ?? defaultTable, wish: match?.wish ?? LocaleMatcher.wishes(in: wishes).first)
    }

    /// Slow: ICU takes tens of microseconds to tell how a locale writes numbers. `LocalizeStage` caches the choice.
    package func choice(of match: LocaleMatch) -> LocaleChoice {
        LocaleChoice(catalog: self, table: match.table, wish: match.wish)
    }

    package func choice(for wishes: UnsafeBufferPointer<UInt8>) -> LocaleChoice { choice(of: match(for: wishes)) }
}

/// A table, and the wish that it serves. Many lists of wishes have the same.
package struct LocaleMatch {
    let table: Int
    var wish: LocaleName?

    /// The same for matches with the same choice.
    package var key: [UInt8] { Array("\(table) \(wish?.icuName ?? "")".utf8) }
}

/// One table in which a key is looked for.
private struct LocaleSearch {
    /// The catalog owns it: reference counting for every message would cost more than what is found in it.
    let table: Unmanaged<LocaleTable>
    let isOfItsLanguage: Bool
}

/// The tables and the number format for a recipient's list of locales. One object, so a message retains only one.
package final class LocaleChoice: Sendable {
    package let catalog: Catalog
    private let searches: [LocaleSearch]
    /// How numbers are written where the recipient is, in texts of the table's language, and in those of the default's
    /// if that is another; nil for the texts' own way.
    private let numbers: NumberSymbols?
    private let defaultNumbers: NumberSymbols?

    init(catalog: Catalog, table: Int, wish: LocaleName? = nil) {
        self.catalog = catalog
        searches = catalog.searches[table]
        func symbols(_ table: Int) -> NumberSymbols? {
            wish?.writingNumbers(in: catalog.tables[table].locale).flatMap { NumberSymbols(locale: $0) }
        }
        numbers = symbols(table)
        let isOfAnother = searches.contains { !$0.isOfItsLanguage }
        defaultNumbers = isOfAnother ? symbols(catalog.defaultTable) : nil
    }

    /// Appends the translation of a key. The appended text is valid only if the result is `ok`.
    package func localize(
        _ key: UnsafeBufferPointer<UInt8>, _ arguments: UnsafeBufferPointer<FormatArgument>,
        to output: inout FormatOutput
    ) -> Localization {
        let hash = TableContents.hash(key)
        for index in searches.indices {
            let isRegional = searches[index].isOfItsLanguage
            let result: Localization? = searches[index].table._withUnsafeGuaranteedRef { table in
                guard let entry = table.entry(key, hash: hash) else { return nil }
                let isAppended =
                    isRegional
                    ? table.append(entry, arguments, numbers, to: &output)
                    : table.append(entry, arguments, defaultNumbers, to: &output)
                return isAppended ? .ok : .wrongArguments
            }
            if let result { return result }
        }
        return .missing
    }
}

package enum Localization {
    case ok
    /// None of the locales searched has the key.
    case missing
    /// Too few arguments, not the numbers that the translation needs, or a specifier that no push can serve.
    case wrongArguments
}
