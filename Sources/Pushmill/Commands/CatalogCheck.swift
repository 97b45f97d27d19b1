import PushmillLocalization
import PushmillReplay
import PushmillStages

extension Command {
    private static let folder = Option.operand("DIR", "the catalog's folder")
    private static let language = Option.value("language", "LOCALE", "the development language; default: en")
    private static let kinds = CatalogReport.Kind.allCases.map(\.rawValue).joined(separator: ", ")
    private static let only = Option.repeated("only", "KIND", "reports only these: \(kinds)")
    private static let failOn = Option.repeated(
        "fail-on", "KIND", "fails for these and for what cannot be read; default: all but warning")
    private static let isJSON = Option.flag("json", "prints one JSON object with all findings")
    private static let all = Option.flag("all", "prints a line for every missing key, not one per language")

    static let catalogCheck = Command(
        name: "catalog check", summary: "Finds errors and gaps in a translation catalog",
        details: """
            Prints the number of findings of each kind per language, then what cannot be
            read or is defined twice with FILE:LINE:COLUMN, and per language missing keys,
            arguments that differ from the development language, plain texts for which
            another language has plural forms, and missing plural forms. Exits with 65 if
            something cannot be read, with 1 for other findings.
            """,
        options: [folder, language, only, failOn, isJSON, all]
    ) { invocation in
        let kind = SettingFormat.choice(CatalogReport.Kind.self)
        let shown = Set(try invocation.values(only, kind))
        let failing = Set(try invocation.values(failOn, kind))
        let development = try invocation.value(language, .locale) ?? .english
        let report = CatalogReport(folder: try invocation.required(folder), development: development)
        let listing = CatalogListing(report: report, shown: shown.isEmpty ? Set(CatalogReport.Kind.allCases) : shown)
        let lines = invocation.flag(isJSON) ? [listing.json] : listing.lines(isWhole: invocation.flag(all))
        for line in lines { invocation.console.output(line) }
        // A file that cannot be read was not checked for anything.
        guard report.problems.isEmpty else { return .badData }
        let warnings = report.warnings.map { _ in CatalogReport.Kind.warning }
        let found = report.locales.flatMap { $0.findings.map(\.kind) } + warnings
        return found.contains { failing.isEmpty ? $0 != .warning : failing.contains($0) } ? .different : .success
    }
}

private struct CatalogListing {
    let report: CatalogReport
    let shown: Set<CatalogReport.Kind>

    private func findings(_ locale: CatalogReport.Locale) -> [CatalogReport.Finding] {
        locale.findings.filter { shown.contains($0.kind) }
    }

    private var problems: [(kind: CatalogReport.Kind, problem: CatalogProblem)] {
        let all = report.problems.map { (CatalogReport.Kind.unreadable, $0) } + report.warnings.map { (.warning, $0) }
        return all.filter { shown.contains($0.0) }
    }

    /// The totals, then the findings. `isWhole` lists every missing key.
    func lines(isWhole: Bool) -> [String] {
        let totals = report.locales.map { locale in
            let findings = findings(locale)
            let counts = CatalogReport.Kind.allCases.compactMap { kind -> String? in
                let count = findings.count { $0.kind == kind }
                return count > 0 ? ", \(kind.rawValue): \(count)" : nil
            }
            return "\(locale.name): keys: \(locale.keyCount)" + (counts.isEmpty ? ", findings: 0" : counts.joined())
        }
        let details = report.locales.flatMap { locale -> [String] in
            let findings = findings(locale)
            let missing = findings.count { $0.kind == .missing }
            let summary = missing > 0 && !isWhole ? ["\(locale.name): \(missing) missing; --all lists them"] : []
            return summary
                + findings.filter { isWhole || $0.kind != .missing }.map { "\(locale.name): \($0)" }
        }
        let files = problems.map { $0.kind == .warning ? "\($0.problem) (warning)" : "\($0.problem)" }
        return (totals + files + details).map { $0.visible() }
    }

    var json: String {
        let files = problems.map { kind, problem in
            Entry(
                kind: kind.rawValue, file: problem.file, line: problem.line, column: problem.column,
                message: problem.message)
        }
        let locales = report.locales.map { locale in
            Locale(
                locale: locale.name.description, keys: locale.keyCount,
                findings: findings(locale).map { Entry(kind: $0.kind.rawValue, key: $0.key, message: "\($0)") })
        }
        return String(decoding: Document(files: files, locales: locales).json, as: UTF8.self)
    }

    private struct Document: Encodable {
        let files: [Entry]
        let locales: [Locale]
    }

    private struct Locale: Encodable {
        let locale: String
        let keys: Int
        let findings: [Entry]
    }

    private struct Entry: Encodable {
        let kind: String
        var key: String?
        var file: String?
        var line: Int?
        var column: Int?
        let message: String
    }
}
