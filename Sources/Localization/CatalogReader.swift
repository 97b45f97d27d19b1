import FoundationEssentials
import Glibc
import PushmillPayload

/// Makes tables from catalog files, and goes on after an error.
package struct CatalogReader {
    /// The tables of all files, if a whole folder was read.
    private(set) var tables: [LocaleTable] = []
    private(set) var problems: [CatalogProblem] = []
    /// Mistakes that do not keep the catalog from being used.
    private(set) var warnings: [CatalogProblem] = []
    /// Keys that are not to be translated.
    private(set) var untranslated: Set<ArraySlice<UInt8>> = []
    private var contents: [LocaleName: TableContents] = [:]
    private var locales: [String: LocaleName] = [:]
    private var fileCount = 0

    package init() {}

    /// Files in `Base.lproj` are in the base language. The first file that has a key takes precedence.
    static func read(folder: String, base: LocaleName) -> CatalogReader {
        var reader = CatalogReader()
        for file in CatalogFile.files(in: folder, base: base, problems: &reader.problems) {
            var status = stat()
            if stat(file.path, &status) == 0, status.st_mode & S_IFMT == S_IFIFO {
                // Opening it would wait for a writer, maybe forever.
                reader.problems.append(CatalogProblem(file: file.path, message: "is a pipe, not a file"))
                continue
            }
            do throws(FileFailure) {
                reader.read(try FileBytes(path: file.path).bytes, of: file.path, locale: file.locale)
            } catch {
                reader.problems.append(CatalogProblem(file: file.path, message: error.what))
            }
        }
        reader.tables = reader.finish(folder)
        return reader
    }

    /// A file without a locale is a String Catalog.
    package mutating func read(_ contents: [UInt8], of path: String, locale: LocaleName?) {
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
    package mutating func finish(_ folder: String) -> [LocaleTable] {
        var tables: [LocaleTable] = []
        for (locale, contents) in contents.sorted(by: { $0.key.description < $1.key.description }) {
            if let table = LocaleTable(locale, contents) {
                tables.append(table)
            } else {
                problems.append(CatalogProblem(file: folder, message: "ICU has no data for \(locale)"))
            }
        }
        contents = [:]
        return tables
    }

    private mutating func readProperties(_ source: SourceText, _ locale: LocaleName) throws(CatalogProblem) {
        var templates = PropertyTemplates(source: source)
        defer { warnings += templates.warnings }
        let root = try PropertyTemplates.root(source)
        guard let members = root.members else { throw source.problem(at: root.offset, "expected a dictionary") }
        for (key, value) in members {
            do throws(CatalogProblem) {
                try add(templates.template(of: value), key, locale, source)
            } catch {
                problems.append(error)
            }
        }
    }

    private mutating func readCatalog(_ source: SourceText) throws(CatalogProblem) {
        let catalog = try StringCatalog(source)
        let sourceLocale = try locale(catalog.sourceLanguage, source)
        catalog.forEachKey { key, isTranslated, localizations in
            if !isTranslated { untranslated.insert(key.bytes) }
            var isInSourceLanguage = false
            for (language, localization) in localizations {
                do throws(CatalogProblem) {
                    let locale = try self.locale(language, source)
                    guard let template = try catalog.template(of: localization) else { continue }
                    if locale == sourceLocale { isInSourceLanguage = true }
                    let key = SourceString(bytes: key.bytes, offset: language.offset)
                    try add(template, key, locale, source)
                } catch {
                    problems.append(error)
                }
            }
            guard !isInSourceLanguage else { return }
            do throws(CatalogProblem) {
                try add(Template(text: .plain(key)), key, sourceLocale, source)
            } catch {
                problems.append(error)
            }
        }
    }

    private mutating func add(
        _ template: Template, _ key: SourceString, _ locale: LocaleName, _ source: SourceText
    ) throws(CatalogProblem) {
        let isAgain = try contents[locale, default: TableContents()]
            .add(template, for: key, from: source, number: fileCount, warnings: &warnings)
        if isAgain {
            warnings.append(source.problem(at: key.offset, "the key \"\(key.string)\" occurs twice; the last is used"))
        }
    }

    /// Cached, because a large catalog names each of its languages thousands of times.
    private mutating func locale(_ tag: SourceString, _ source: SourceText) throws(CatalogProblem) -> LocaleName {
        let text = tag.string
        if let known = locales[text] { return known }
        guard let locale = LocaleName(text) else {
            throw source.problem(at: tag.offset, "\(text) is not a language tag")
        }
        locales[text] = locale
        return locale
    }
}

/// A file of a catalog's folder, as in an iOS project: `*.lproj/*.strings`, `*.lproj/*.stringsdict`, `*.xcstrings`.
struct CatalogFile {
    /// If two files of a table have a key, the earlier kind takes precedence.
    enum Kind: String, CaseIterable { case stringsdict, xcstrings, strings }

    let path: String
    /// Nil for a String Catalog, which has many.
    let locale: LocaleName?
    private let table: String
    private let kind: Kind

    private init?(_ name: String, in folder: String, locale: LocaleName?) {
        guard let dot = name.lastIndex(of: "."), let kind = Kind(rawValue: String(name[name.index(after: dot)...])),
            (locale == nil) == (kind == .xcstrings)
        else { return nil }
        path = "\(folder)/\(name)"
        table = String(name[..<dot])
        self.kind = kind
        self.locale = locale
    }

    /// All files of a folder, in order of precedence. A folder that cannot be read is a problem.
    static func files(
        in folder: String, base: LocaleName, problems: inout [CatalogProblem]
    ) -> [CatalogFile] {
        var files: [CatalogFile] = []
        var baseFiles: [CatalogFile] = []
        for name in names(in: folder, &problems) {
            if let file = CatalogFile(name, in: folder, locale: nil) { files.append(file) }
            guard name.hasSuffix(".lproj") else { continue }
            let path = "\(folder)/\(name)"
            let tag = String(name.dropLast(".lproj".count))
            let isBase = tag == "Base"
            guard let locale = isBase ? base : LocaleName(formerNames[tag.lowercased()] ?? tag) else {
                problems.append(CatalogProblem(file: path, message: "the folder's name is not a language tag"))
                continue
            }
            let found = names(in: path, &problems).compactMap { CatalogFile($0, in: path, locale: locale) }
            if isBase { baseFiles += found } else { files += found }
        }
        // A language may have only some of its tables in a folder of its own, such as `InfoPlist.strings`.
        let others = baseFiles.filter { baseFile in !files.contains { $0.isInPlace(of: baseFile) } }
        return (files + others).sorted { $0.rank < $1.rank }
    }

    /// True if this file replaces one of `Base.lproj`: a language's own table takes precedence.
    private func isInPlace(of baseFile: CatalogFile) -> Bool {
        table == baseFile.table && (kind == .xcstrings || kind == baseFile.kind && locale == baseFile.locale)
    }

    /// The names of folders in old projects.
    private static let formerNames = [
        "arabic": "ar", "chinese": "zh-Hans", "danish": "da", "dutch": "nl", "english": "en", "finnish": "fi",
        "french": "fr", "german": "de", "italian": "it", "japanese": "ja", "korean": "ko", "norwegian": "nb",
        "polish": "pl", "portuguese": "pt", "russian": "ru", "spanish": "es", "swedish": "sv", "thai": "th",
        "turkish": "tr",
    ]

    /// The table that loc-keys refer to comes first, the others by name.
    private var rank: (String, Int) {
        (table == "Localizable" ? "" : table, Kind.allCases.firstIndex(of: kind) ?? 0)
    }

    /// Leaves out hidden files, such as `._Localizable.strings` in archives from a Mac, and the lock files of editors.
    private static func names(in folder: String, _ problems: inout [CatalogProblem]) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasPrefix(".") }.sorted()
        } catch {
            let reason = ((error as? CocoaError)?.underlying as? POSIXError).map { strerror($0.code.rawValue) }
            let detail = reason.flatMap { $0 }.map { ": " + String(cString: $0) } ?? ""
            problems.append(CatalogProblem(file: folder, message: "cannot read the folder\(detail)"))
            return []
        }
    }
}

/// One thing that is wrong with a catalog, and where. Lines and columns (in characters) count from 1; a problem of a
/// whole file has none.
package struct CatalogProblem: Error, Sendable, Equatable {
    package let file: String
    package private(set) var line: Int?
    package private(set) var column: Int?
    package let message: String
}

extension CatalogProblem: CustomStringConvertible {
    package var description: String {
        guard let line, let column else { return "\(file): \(message)" }
        return "\(file):\(line):\(column): \(message)"
    }
}

/// Why a catalog was not loaded: everything found, in the order of the files.
package struct CatalogError: Error, Sendable, CustomStringConvertible {
    package let problems: [CatalogProblem]

    package var description: String { problems.map(\.description).joined(separator: "\n") }
}
