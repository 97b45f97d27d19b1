import Push

extension Command {
    private static let folder = Option.operand("DIR", "the catalog's folder")
    private static let language = Option.value("language", "LOCALE", "the development language, en unless given")

    static let catalogCheck = Command(
        "catalog check", "Finds what is wrong or missing in a catalog of translations",
        details: """
            Prints FILE:LINE:COLUMN for what cannot be read, and by locale the keys that are
            missing, arguments that differ from the development language, and plural forms
            that the language needs. Exits with 65 if something cannot be read, with 1 if
            something is missing or differs.
            """,
        options: [folder, language]
    ) { invocation throws(ProgramError) in
        let console = invocation.surroundings.console
        let development = try invocation.value(language, .locale) ?? .english
        let report = CatalogReport(folder: try invocation.required(folder), development: development)
        for problem in report.problems { console.output("\(problem)") }
        for warning in report.warnings { console.output("\(warning)") }
        for locale in report.locales {
            for finding in locale.findings { console.output("\(locale.name): \(finding)") }
            console.output("\(locale.name): keys: \(locale.keyCount), findings: \(locale.findings.count)")
        }
        guard report.problems.isEmpty else { return .badData }
        return report.locales.allSatisfy(\.findings.isEmpty) ? .success : .different
    }
}
