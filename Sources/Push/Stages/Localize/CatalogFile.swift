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
    static func files(in folder: String, problems: inout [CatalogProblem]) -> [CatalogFile] {
        var files: [CatalogFile] = []
        for name in names(in: folder, &problems) {
            if let file = CatalogFile(name, in: folder, locale: nil) { files.append(file) }
            // Base.lproj holds interfaces and is no language.
            guard name.hasSuffix(".lproj"), name != "Base.lproj" else { continue }
            let path = "\(folder)/\(name)"
            guard let locale = LocaleName(name.dropLast(".lproj".count)) else {
                problems.append(CatalogProblem(file: path, message: "the folder's name is no language tag"))
                continue
            }
            files += names(in: path, &problems).compactMap { CatalogFile($0, in: path, locale: locale) }
        }
        return files.sorted { $0.rank < $1.rank }
    }

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
