/// What translators still have to do, held against the language that the app is developed in.
package struct CatalogReport: Sendable {
    /// The kinds of findings, by the names that a command line has for them.
    package enum Kind: String, CaseIterable, Sendable {
        case unreadable, warning, missing, arguments
        case textForPlural = "text-for-plural"
        case forms
    }

    package enum Finding: Sendable, Equatable {
        /// Neither the locale nor a truncation of it has the key.
        case missing(key: String)
        /// Held against the development language or, where that lacks the key, against the first locale that has it.
        case otherArguments(key: String, here: FormatSignature, there: FormatSignature, LocaleName?)
        /// The argument, from 1, chooses a plural form in the other locale: what is text takes `other` there.
        case textForPlural(key: String, argument: Int, LocaleName)
        /// For the counts that people meet, the language needs these forms too.
        case lacksForms(key: String, [PluralCategory])
    }

    package struct Locale: Sendable {
        package let name: LocaleName
        package let keyCount: Int
        /// Sorted by key.
        package let findings: [Finding]
    }

    /// What cannot be read. Where there is something, the locales are told without it.
    package let problems: [CatalogProblem]
    /// What serves, and should be mended all the same.
    package let warnings: [CatalogProblem]
    package let locales: [Locale]

    package init(folder: String, development: LocaleName) {
        let read = CatalogReader.read(folder: folder, base: development)
        let (tables, problems) = (read.tables, read.problems)
        warnings = read.warnings
        guard let base = tables.first(where: { $0.locale == development }) else {
            let message = "nothing in the development language \(development)"
            self.problems = problems + [CatalogProblem(file: folder, message: message)]
            locales = []
            return
        }
        self.problems = problems
        locales = tables.map { table in
            let shorter = table.locale.truncations.compactMap { name in tables.first { $0.locale == name } }
            let findings =
                Self.missing(from: [table] + shorter, base, read.untranslated) + Self.differences(table, base, tables)
                + Self.textsForPlurals(table, tables)
            return Locale(name: table.locale, keyCount: table.count, findings: findings.sorted { $0.key < $1.key })
        }
    }

    private static func missing(
        from tables: [LocaleTable], _ base: LocaleTable, _ untranslated: Set<ArraySlice<UInt8>>
    ) -> [Finding] {
        base.keys.compactMap { key, _ in
            let isThere = untranslated.contains(key) || tables.contains { $0.entry(key) != nil }
            return isThere ? nil : .missing(key: String(decoding: key, as: UTF8.self))
        }
    }

    private static func textsForPlurals(_ table: LocaleTable, _ tables: [LocaleTable]) -> [Finding] {
        table.keys.flatMap { key, entry -> [Finding] in
            let texts = table.arguments(of: entry, .text)
            guard !texts.isEmpty else { return [] }
            return texts.sorted().compactMap { argument in
                let other = tables.first { other in
                    other.entry(key).map { other.arguments(of: $0, .plural).contains(argument) } ?? false
                }
                guard let other else { return nil }
                let name = String(decoding: key, as: UTF8.self)
                return .textForPlural(key: name, argument: Int(argument) + 1, other.locale)
            }
        }
    }

    private static func differences(
        _ table: LocaleTable, _ base: LocaleTable, _ tables: [LocaleTable]
    ) -> [Finding] {
        let needed = table.rules.usualCategories
        return table.keys.flatMap { key, entry -> [Finding] in
            let name = String(decoding: key, as: UTF8.self)
            var findings: [Finding] = []
            let isInBase = base.entry(key) != nil
            let other = isInBase ? base : tables.first { $0.entry(key) != nil }
            if let other, let there = other.entry(key)?.signature, there != entry.signature {
                findings.append(
                    .otherArguments(
                        key: name, here: entry.signature, there: there, isInBase ? nil : other.locale))
            }
            let lacking = table.pluralForms(of: entry).reduce(into: Set()) { $0.formUnion(needed.subtracting($1)) }
            if !lacking.isEmpty {
                let categories = PluralCategory.allCases.filter(lacking.contains)
                findings.append(.lacksForms(key: name, categories))
            }
            return findings
        }
    }
}

extension CatalogReport.Finding: CustomStringConvertible {
    package var kind: CatalogReport.Kind {
        switch self {
        case .missing: .missing
        case .otherArguments: .arguments
        case .textForPlural: .textForPlural
        case .lacksForms: .forms
        }
    }

    package var key: String {
        switch self {
        case .missing(let key), .otherArguments(let key, _, _, _), .textForPlural(let key, _, _),
            .lacksForms(let key, _):
            key
        }
    }

    package var description: String {
        switch self {
        case .missing(let key):
            "\"\(key)\" is missing"
        case .otherArguments(let key, let here, let there, let locale):
            "\"\(key)\" takes \(here), in \(locale.map(\.description) ?? "the development language") \(there)"
        case .textForPlural(let key, let argument, let other):
            "\"\(key)\" takes %\(argument)$@ as text, but it chooses the plural form in \(other)"
        case .lacksForms(let key, let categories):
            "\"\(key)\" lacks the plural form \(categories.map { "\($0.name)" }.joined(separator: ", "))"
        }
    }
}
