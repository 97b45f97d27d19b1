public import PushmillPayload

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

    /// The built-in stages plus a program's own. A program's stage replaces the built-in one of the same name.
    public init(adding own: [StageEntry] = []) {
        entries = own + Self.builtIn.filter { entry in !own.contains { $0.name == entry.name } }
    }

    /// Reads a list of stages in the order of the chain, with the keys that every stage has: `when` and `budget`.
    package func read(_ key: String, from settings: inout SettingReader) -> [ConfiguredStage] {
        var places: [String: Place] = [:]
        return settings.namedMaps(key) { name, settings -> ConfiguredStage? in
            if let first = places.updateValue(settings.place, forKey: name) {
                settings.report("a stage with this name is already in the chain, at \(first)")
            }
            guard let entry = entries.first(where: { $0.name == name }) else {
                settings.report("no such stage" + suggestion(name))
                settings.ignoreRest()
                return nil
            }
            if let problem = Self.problem(withName: name) { settings.report(problem) }
            let condition = settings.map("when", StageCondition.init)
            let budget = settings.optional("budget", .duration(.milliseconds(1) ... .seconds(3600)))
            if budget != nil, entry.neverWaits {
                settings.warn("budget", "has no effect: this stage never waits for anything")
            }
            guard let make = entry.read(&settings) else {
                if settings.problems.isEmpty { settings.report("the stage cannot be used with these settings") }
                return nil
            }
            return ConfiguredStage(
                name: name, condition: condition, budget: budget, contactSource: settings.contactSource,
                hasCoPartitionedContacts: settings.hasCoPartitionedContacts, place: settings.place, path: settings.path,
                make: make)
        }.compactMap { $0 }
    }

    /// The value of `pushmill-stages` is a list of `name=result`, separated by commas.
    static func problem(withName name: String) -> String? {
        let isPlain = !name.isEmpty && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && !",=".utf8.contains($0) }
        let rule = "must not be empty or contain ',', '=' or a control character"
        return isPlain ? nil : "the name \(name.debugDescription) of a stage \(rule)"
    }

    private func suggestion(_ name: String) -> String {
        let names = entries.map(\.name)
        let question = Spelling.question(name, names)
        return question.isEmpty ? "; available: \(names.joined(separator: ", "))" : question
    }
}

/// A kind of stage: the name by which a configuration asks for it, and how its settings become a stage.
public struct StageEntry: Sendable {
    /// Builds the stage and opens what it needs. Not called when a configuration is only checked.
    public typealias Build = @Sendable (StageResources) async throws -> any Stage

    public let name: String
    /// Its stages are immediate, however they are configured.
    let neverWaits: Bool
    package let read: @Sendable (inout SettingReader) -> Build?

    /// `read` asks for every setting it knows, has no side effects, and returns nil only after a problem.
    public init(_ name: String, read: @escaping @Sendable (inout SettingReader) -> Build?) {
        self.init(name, neverWaits: false, read: read)
    }

    init(_ name: String, neverWaits: Bool, read: @escaping @Sendable (inout SettingReader) -> Build?) {
        self.name = name
        self.neverWaits = neverWaits
        self.read = read
    }
}

/// A stage as configured, not built yet.
public struct ConfiguredStage: Sendable {
    public let name: String
    public let condition: StageCondition
    /// How long the stage may take; nil for all the time until the message's deadline.
    public let budget: Duration?

    /// Nil for a stage without contacts.
    package let contactSource: ContactSource?
    /// Whether contacts are in the partition with the same number as the partition of their recipient's events.
    package let hasCoPartitionedContacts: Bool
    package let place: Place
    package let path: String
    let make: StageEntry.Build

    /// Builds the stage; errors carry the stage's place in the configuration.
    public func build(_ resources: StageResources) async throws(SettingProblem) -> any Stage {
        do {
            let stage = try await make(resources.lent(to: name))
            if let problem = StageRegistry.problem(withName: stage.name) {
                throw SettingProblem(place: place, path: path, message: problem)
            }
            return stage
        } catch {
            throw error as? SettingProblem ?? SettingProblem(place: place, path: path, message: "\(error)")
        }
    }
}

/// A stage's `when:`. Every condition given must hold; a list holds if it contains the message's value.
public struct StageCondition: Sendable, Equatable {
    public internal(set) var categories: [String] = []
    public internal(set) var topics: [String] = []
    public internal(set) var pushTypes: [String] = []
    /// A member that must be present.
    public internal(set) var member: JSONPointer?
}

extension StageCondition {
    init(from settings: inout SettingReader) {
        categories = settings.list("category", .name)
        topics = settings.list("apns-topic", .name)
        pushTypes = settings.list("push-type", .name)
        member = settings.optional("has", .pointer)
    }
}
