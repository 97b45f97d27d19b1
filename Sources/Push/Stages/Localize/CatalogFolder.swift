import FoundationEssentials

/// Reads a folder as an iOS team has it: `*.lproj/*.strings`, `*.lproj/*.stringsdict`, `*.xcstrings`.
struct CatalogFolder {
    /// The tables of all files that could be read, sorted by locale.
    private(set) var tables: [LocaleTable] = []
    private(set) var problems: [CatalogProblem] = []
    private var builders: [LocaleName: TableBuilder] = [:]
    private var locales: [String: LocaleName] = [:]

    private struct File {
        let path: String
        /// Nil for a String Catalog, which has many.
        let locale: LocaleName?
        let table: String
        let kind: Kind

        /// Where two of them have a key, the first kind counts.
        enum Kind: String { case stringsdict, xcstrings, strings }
    }

    init(_ folder: String) {
        for (number, file) in files(in: folder).enumerated() {
            do throws(CatalogProblem) {
                try read(file, number: number)
            } catch {
                problems.append(error)
            }
        }
        for (locale, builder) in builders.sorted(by: { $0.key.description < $1.key.description }) {
            if let table = builder.finish(locale) {
                tables.append(table)
            } else {
                problems.append(CatalogProblem(file: folder, message: "ICU has no data for \(locale)"))
            }
        }
        builders = [:]
    }

    /// In the order in which they count: those of the table that `loc-key` means first, then by name.
    private mutating func files(in folder: String) -> [File] {
        var files: [File] = []
        for name in names(in: folder) {
            let path = "\(folder)/\(name)"
            if let (table, kind) = Self.table(name), kind == .xcstrings {
                files.append(File(path: path, locale: nil, table: table, kind: kind))
            }
            // Base.lproj holds interfaces, not a language.
            guard name.hasSuffix(".lproj"), name != "Base.lproj" else { continue }
            guard let locale = LocaleName(name.dropLast(6)) else {
                problems.append(CatalogProblem(file: path, message: "the folder's name is no language tag"))
                continue
            }
            for name in names(in: path) {
                guard let (table, kind) = Self.table(name), kind != .xcstrings else { continue }
                files.append(File(path: "\(path)/\(name)", locale: locale, table: table, kind: kind))
            }
        }
        let kinds: [File.Kind] = [.stringsdict, .xcstrings, .strings]
        return kinds.flatMap { kind in files.filter { $0.kind == kind } }
            .sorted { ($0.table == "Localizable" ? "" : $0.table) < ($1.table == "Localizable" ? "" : $1.table) }
    }

    private mutating func names(in folder: String) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        } catch {
            problems.append(CatalogProblem(file: folder, message: "the folder cannot be read"))
            return []
        }
    }

    private static func table(_ name: String) -> (String, File.Kind)? {
        guard let dot = name.lastIndex(of: "."), let kind = File.Kind(rawValue: String(name[name.index(after: dot)...]))
        else { return nil }
        return (String(name[..<dot]), kind)
    }

    private mutating func read(_ file: File, number: Int) throws(CatalogProblem) {
        let contents: [UInt8]
        do throws(FileUnreadable) {
            contents = try FileBytes(path: file.path).bytes
        } catch {
            throw CatalogProblem(file: file.path, message: "\(error)")
        }
        let source = try SourceText(file: file.path, contents: contents)
        if let locale = file.locale {
            try readProperties(source, locale, number: number)
        } else {
            try readCatalog(source, number: number)
        }
    }

    private mutating func readProperties(
        _ source: SourceText, _ locale: LocaleName, number: Int
    ) throws(CatalogProblem) {
        let templates = PropertyTemplates(source: source)
        for (key, value) in try PropertyTemplates.tree(source).root.members {
            do throws(CatalogProblem) {
                try add(templates.template(of: value), key, locale, source, number)
            } catch {
                problems.append(error)
            }
        }
    }

    private mutating func readCatalog(_ source: SourceText, number: Int) throws(CatalogProblem) {
        let catalog = try StringCatalog(source)
        let sourceLocale = try locale(catalog.sourceLanguage, source)
        catalog.forEachKey { key, localizations in
            var isInSourceLanguage = false
            for (language, localization) in localizations {
                do throws(CatalogProblem) {
                    let locale = try locale(language, source)
                    guard let template = try catalog.template(of: localization) else { continue }
                    if locale == sourceLocale { isInSourceLanguage = true }
                    let key = SourceString(bytes: key.bytes, offset: language.offset)
                    try add(template, key, locale, source, number)
                } catch {
                    problems.append(error)
                }
            }
            guard !isInSourceLanguage else { return }
            do throws(CatalogProblem) {
                try add(Template(text: .plain(key)), key, sourceLocale, source, number)
            } catch {
                problems.append(error)
            }
        }
    }

    private mutating func add(
        _ template: Template, _ key: SourceString, _ locale: LocaleName, _ source: SourceText, _ number: Int
    ) throws(CatalogProblem) {
        try builders[locale, default: TableBuilder()].add(template, for: key, from: source, number: number)
    }

    /// A large catalog names each of its languages thousands of times.
    private mutating func locale(_ tag: SourceString, _ source: SourceText) throws(CatalogProblem) -> LocaleName {
        if let known = locales[tag.string] { return known }
        guard let locale = LocaleName(tag.string) else {
            throw source.problem(at: tag.offset, "\(tag.string) is no language tag")
        }
        locales[tag.string] = locale
        return locale
    }
}
