import PushmillMedia
import PushmillStages
import PushmillStores
import PushmillTelemetry

extension Configuration {
    /// Builds the stages of the chain; opens what they need. `wrap` may put another stage around each.
    func links(
        _ resources: StageResources, wrap: (any Stage) -> any Stage = { $0 }
    ) async throws(ProgramError) -> [ChainLink] {
        var links: [ChainLink] = []
        var problems: [SettingProblem] = []
        for stage in stages {
            do throws(SettingProblem) {
                let built = wrap(try await stage.build(resources))
                guard !links.contains(where: { $0.stage.name == built.name }) else {
                    let message = "another stage of the chain calls itself \"\(built.name)\", too"
                    throw SettingProblem(place: stage.place, path: stage.path, message: message)
                }
                links.append(ChainLink(built, condition: stage.condition, budget: stage.budget))
            } catch {
                problems.append(error)
            }
        }
        guard problems.isEmpty else { throw .configuration(problems) }
        return links
    }
}

extension StateSettings {
    /// Opens the source of a contact stage. `creating` also creates a missing state.
    func contacts(of source: ContactSource, creating: Bool, _ watcher: FileWatcher) throws -> any ContactBook {
        switch source {
        // `ContactFollower` copies the contacts of a topic into the state.
        case .state, .topic:
            return try StoredContacts(try open(creating: creating))
        case .file(let path):
            let contacts = try ContactFile(path: path)
            watcher.add(contacts.file, of: "contact")
            return contacts
        }
    }
}

extension MetricRegistry {
    /// For the folder that media is kept in: a chain has at most one attachment stage.
    func addMedia(_ libraries: [MediaLibrary]) {
        measure(.mediaBytes) { libraries.compactMap(\.figures).map { .init(Double($0.bytes), $0.path) } }
        measure(.mediaLimit) { libraries.compactMap(\.figures).map { .init(Double($0.limit), $0.path) } }
        measure(.mediaFree) { libraries.compactMap(\.figures).map { .init(Double($0.free), $0.path) } }
        measure(.mediaRefused) { libraries.compactMap(\.figures).map { .init(Double($0.refusals), $0.path) } }
    }
}

/// Counts stages that were abandoned while they ran, and those that ended after that.
final class AbandonedStages: ChainObserver {
    private let stages: [StageMetrics]

    init(_ metrics: ServiceMetrics) { stages = metrics.messages.stages }

    func stageAbandoned(_ stage: Int, isLate: Bool) {
        if isLate { stages[stage].expired.add() }
        stages[stage].abandoned.add(1)
    }

    func abandonedStageEnded(_ stage: Int) {
        stages[stage].late.add()
        stages[stage].abandoned.add(-1)
    }
}
