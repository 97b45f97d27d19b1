import FoundationEssentials

/// A file of a catalog's folder as an iOS team has it: `*.lproj/*.strings`, `*.lproj/*.stringsdict`, `*.xcstrings`.
struct CatalogFile {
    /// Where two of a table have a key, the first kind counts.
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

    /// All files of a folder, those that count first in front. What cannot be looked at is a problem.
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
                problems.append(CatalogProblem(file: path, message: "the folder's name is no language tag"))
                continue
            }
            let found = names(in: path, &problems).compactMap { CatalogFile($0, in: path, locale: locale) }
            if isBase { baseFiles += found } else { files += found }
        }
        // Where the language has files of its own, Base.lproj holds interfaces.
        if !files.contains(where: { $0.locale == nil || $0.locale == base }) { files += baseFiles }
        return files.sorted { $0.rank < $1.rank }
    }

    /// What folders of old projects are called.
    private static let formerNames = [
        "arabic": "ar", "chinese": "zh-Hans", "danish": "da", "dutch": "nl", "english": "en", "finnish": "fi",
        "french": "fr", "german": "de", "italian": "it", "japanese": "ja", "korean": "ko", "norwegian": "nb",
        "polish": "pl", "portuguese": "pt", "russian": "ru", "spanish": "es", "swedish": "sv", "thai": "th",
        "turkish": "tr",
    ]

    /// The table that a loc-key means comes first, the others by name.
    private var rank: (String, Int) {
        (table == "Localizable" ? "" : table, Kind.allCases.firstIndex(of: kind) ?? 0)
    }

    private static func names(in folder: String, _ problems: inout [CatalogProblem]) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        } catch {
            problems.append(CatalogProblem(file: folder, message: "the folder cannot be read"))
            return []
        }
    }
}
