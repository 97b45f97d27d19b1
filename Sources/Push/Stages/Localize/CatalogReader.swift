/// Makes tables of catalog files, and goes on after what is wrong.
struct CatalogReader {
    private(set) var problems: [CatalogProblem] = []
    /// What is not as it should be, and serves all the same.
    private(set) var warnings: [CatalogProblem] = []
    /// Keys that no language but their own has to have.
    private var untranslated: Set<ArraySlice<UInt8>> = []
    private var builders: [LocaleName: TableBuilder] = [:]
    private var locales: [String: LocaleName] = [:]
    private var fileCount = 0

    struct Result {
        let tables: [LocaleTable]
        let problems: [CatalogProblem]
        let warnings: [CatalogProblem]
        let untranslated: Set<ArraySlice<UInt8>>
    }

    /// What `Base.lproj` holds is in the base language.
    static func read(folder: String, base: LocaleName) -> Result {
        var reader = CatalogReader()
        for file in CatalogFile.files(in: folder, base: base, problems: &reader.problems) { reader.read(file) }
        let tables = reader.finish(folder)
        return Result(
            tables: tables, problems: reader.problems, warnings: reader.warnings, untranslated: reader.untranslated)
    }

    /// The first file that has a key counts.
    private mutating func read(_ file: CatalogFile) {
        do throws(FileUnreadable) {
            read(try FileBytes(path: file.path).bytes, of: file.path, locale: file.locale)
        } catch {
            problems.append(CatalogProblem(file: file.path, message: "\(error)"))
        }
    }

    /// A file without a locale is a String Catalog.
    mutating func read(_ contents: [UInt8], of path: String, locale: LocaleName?) {
        fileCount += 1
        do throws(CatalogProblem) {
            let source = try SourceText(file: path, contents: contents)
            if let locale {
                try readProperties(source, locale)
            } else {
                try readCatalog(source)
            }
        } catch {
            problems.append(error)
        }
    }

    /// The tables of all that was read, sorted by locale.
    mutating func finish(_ folder: String) -> [LocaleTable] {
        var tables: [LocaleTable] = []
        for (locale, builder) in builders.sorted(by: { $0.key.description < $1.key.description }) {
            if let table = builder.finish(locale) {
                tables.append(table)
            } else {
                problems.append(CatalogProblem(file: folder, message: "ICU has no data for \(locale)"))
            }
        }
        builders = [:]
        return tables
    }

    private mutating func readProperties(_ source: SourceText, _ locale: LocaleName) throws(CatalogProblem) {
        var templates = PropertyTemplates(source: source)
        defer { warnings += templates.warnings }
        let root = try PropertyTemplates.tree(source).root
        guard root.kind == .dictionary else { throw source.problem(at: root.offset, "expected a dictionary") }
        for (key, value) in root.members {
            noting { (reader) throws(CatalogProblem) in
                try reader.add(templates.template(of: value), key, locale, source)
            }
        }
    }

    private mutating func readCatalog(_ source: SourceText) throws(CatalogProblem) {
        let catalog = try StringCatalog(source)
        let sourceLocale = try locale(catalog.sourceLanguage, source)
        untranslated.formUnion(catalog.untranslatedKeys)
        catalog.forEachKey { key, localizations in
            var isInSourceLanguage = false
            for (language, localization) in localizations {
                noting { (reader) throws(CatalogProblem) in
                    let locale = try reader.locale(language, source)
                    guard let template = try catalog.template(of: localization) else { return }
                    if locale == sourceLocale { isInSourceLanguage = true }
                    let key = SourceString(bytes: key.bytes, offset: language.offset)
                    try reader.add(template, key, locale, source)
                }
            }
            guard !isInSourceLanguage else { return }
            noting { (reader) throws(CatalogProblem) in
                try reader.add(Template(text: .plain(key)), key, sourceLocale, source)
            }
        }
    }

    private mutating func noting(_ body: (inout CatalogReader) throws(CatalogProblem) -> Void) {
        do throws(CatalogProblem) {
            try body(&self)
        } catch {
            problems.append(error)
        }
    }

    private mutating func add(
        _ template: Template, _ key: SourceString, _ locale: LocaleName, _ source: SourceText
    ) throws(CatalogProblem) {
        let isAgain = try builders[locale, default: TableBuilder()]
            .add(template, for: key, from: source, number: fileCount)
        if isAgain {
            warnings.append(source.problem(at: key.offset, "the key \"\(key.string)\" comes twice; the last counts"))
        }
    }

    /// A large catalog names each of its languages thousands of times.
    private mutating func locale(_ tag: SourceString, _ source: SourceText) throws(CatalogProblem) -> LocaleName {
        let text = tag.string
        if let known = locales[text] { return known }
        guard let locale = LocaleName(text) else {
            throw source.problem(at: tag.offset, "\(text) is no language tag")
        }
        locales[text] = locale
        return locale
    }
}
