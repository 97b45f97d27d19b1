/// What translators still have to do, compared with the language that the app is developed in.
package struct CatalogReport: Sendable {
    /// The kinds of findings, by their names on the command line.
    package enum Kind: String, CaseIterable, Sendable {
        case unreadable, warning, missing, arguments
        case textForPlural = "text-for-plural"
        case forms
    }

    package struct Finding: Sendable, CustomStringConvertible {
        package let kind: Kind
        package let key: String
        private let message: String

        fileprivate init(_ kind: Kind, _ key: ArraySlice<UInt8>, _ message: String) {
            self.kind = kind
            self.key = String(decoding: key, as: UTF8.self)
            self.message = message
        }

        package var description: String { "\"\(key)\" \(message)" }
    }

    package struct Locale: Sendable {
        package let name: LocaleName
        package let keyCount: Int
        /// Sorted by key.
        package let findings: [Finding]
    }

    /// What cannot be read; `locales` are reported without it.
    package let problems: [CatalogProblem]
    /// What can be used, but should be fixed.
    package let warnings: [CatalogProblem]
    package let locales: [Locale]

    package init(folder: String, development: LocaleName) {
        let read = CatalogReader.read(folder: folder, base: development)
        let tables = read.tables
        warnings = read.warnings
        guard let base = tables.first(where: { $0.locale == development }) else {
            let message = "no texts in the development language \(development)"
            problems = read.problems + [CatalogProblem(file: folder, message: message)]
            locales = []
            return
        }
        problems = read.problems
        locales = tables.map { table in
            let shorter = table.locale.truncations.compactMap { name in tables.first { $0.locale == name } }
            let findings =
                Self.missing(from: [table] + shorter, base, read.untranslated) + Self.differences(table, base, tables)
                + Self.textsForPlurals(table, tables)
            return Locale(name: table.locale, keyCount: table.count, findings: findings.sorted { $0.key < $1.key })
        }
    }

    /// Keys that neither a locale nor a truncation of it has.
    private static func missing(
        from tables: [LocaleTable], _ base: LocaleTable, _ untranslated: Set<ArraySlice<UInt8>>
    ) -> [Finding] {
        base.keys.compactMap { key, _ in
            let isThere = untranslated.contains(key) || tables.contains { $0.entry(key) != nil }
            return isThere ? nil : Finding(.missing, key, "is missing")
        }
    }

    /// Arguments used as text that choose a plural form in another locale: a text takes `other` there.
    private static func textsForPlurals(_ table: LocaleTable, _ tables: [LocaleTable]) -> [Finding] {
        table.keys.flatMap { key, entry -> [Finding] in
            let texts = table.arguments(of: entry, .text).subtracting(table.arguments(of: entry, .plural))
            return texts.sorted().compactMap { argument in
                let other = tables.first { other in
                    other.entry(key).map { other.arguments(of: $0, .plural).contains(argument) } ?? false
                }
                guard let other else { return nil }
                return Finding(
                    .textForPlural, key,
                    "takes %\(argument + 1)$@ as text, but it chooses the plural form in \(other.locale)")
            }
        }
    }

    /// Compares a locale with the development language or, if that lacks the key, with the first locale that has it.
    /// Also finds missing plural forms that the language needs for the counts that people meet.
    private static func differences(
        _ table: LocaleTable, _ base: LocaleTable, _ tables: [LocaleTable]
    ) -> [Finding] {
        let needed = table.rules.usualCategories
        return table.keys.flatMap { key, entry -> [Finding] in
            var findings: [Finding] = []
            let isInBase = base.entry(key) != nil
            let other = isInBase ? base : tables.first { $0.entry(key) != nil }
            let here = table.signature(of: entry)
            if let other, let there = other.entry(key).map(other.signature), there != here {
                let language = isInBase ? "the development language" : other.locale.description
                findings.append(Finding(.arguments, key, "takes \(here), but \(there) in \(language)"))
            }
            let lacking = table.pluralForms(of: entry).reduce(into: Set()) { $0.formUnion(needed.subtracting($1)) }
            if !lacking.isEmpty {
                let names = PluralCategory.allCases.filter(lacking.contains).map { "\($0.name)" }
                findings.append(Finding(.forms, key, "lacks the plural form \(names.joined(separator: ", "))"))
            }
            return findings
        }
    }
}
