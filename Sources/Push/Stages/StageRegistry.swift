/// The kinds of stages that a configuration can name.
public struct StageRegistry: Sendable {
    /// The stages that come with the library.
    public static let builtIn: [StageEntry] = [
        DecryptStage.entry,
        .localize,
        ContactStage.entry,
        BadgeStage.entry,
        AttachmentStage.entry,
    ]

    private let entries: [StageEntry]

    /// The built-in stages and a program's own. One of those may take the name, and so the place, of a built-in one.
    public init(adding own: [StageEntry] = []) {
        entries = own + Self.builtIn.filter { entry in !own.contains { $0.name == entry.name } }
    }

    /// Reads a list of stages in the order of the chain, with the keys that every stage has: `when` and `budget`.
    package func read(_ key: String, from settings: inout SettingReader) -> [ConfiguredStage] {
        var names: Set<String> = []
        return settings.namedMaps(key) { name, settings -> ConfiguredStage? in
            if !names.insert(name).inserted { settings.report("a stage of this name is already in the chain") }
            guard let entry = entries.first(where: { $0.name == name }) else {
                settings.report("no such stage" + suggestion(name))
                settings.ignoreRest()
                return nil
            }
            let condition = settings.map("when", StageCondition.init)
            let budget = settings.optional("budget", .duration(.milliseconds(1) ... .seconds(3600)))
            guard let make = entry.read(&settings) else {
                if settings.problems.isEmpty { settings.report("the stage cannot be used with these settings") }
                return nil
            }
            return ConfiguredStage(
                name: name, condition: condition, budget: budget, place: settings.place, path: settings.path,
                settings: settings.effective, make: make)
        }.compactMap { $0 }
    }

    private func suggestion(_ name: String) -> String {
        let names = entries.map(\.name)
        let question = Spelling.question(name, names)
        guard question.isEmpty, !names.isEmpty else { return question }
        return "; there are \(names.joined(separator: ", "))"
    }
}
