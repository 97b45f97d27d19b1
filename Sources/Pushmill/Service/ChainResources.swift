import Glibc
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
                links.append(ChainLink(built, condition: stage.condition, budget: stage.budget))
            } catch {
                problems.append(error)
            }
        }
        guard problems.isEmpty else { throw .configuration(problems) }
        return links
    }
}

/// Opens what a contact stage names as its source.
struct ContactSources: Sendable {
    let statePath: String
    /// Whether state that is not there yet is created.
    let mayCreate: Bool
    let watcher: FileWatcher

    func open(_ source: ContactSource) throws -> any ContactBook {
        switch source {
        // A topic's contacts are kept in the state by `TopicContacts`, which follows it.
        case .state, .topic:
            guard mayCreate || access(statePath, F_OK) == 0 else {
                throw ContactsUnavailable("there is no state at \(statePath)")
            }
            return try StoredContacts(try StateFile(path: statePath, access: .shared))
        case .file(let path):
            let contacts = try ContactFile(path: path)
            watcher.add(contacts.file, of: "contact")
            return contacts
        }
    }
}

/// The libraries of media that a chain has, one for each of its attachment stages.
struct MediaLibraries: Sendable {
    private let all: [MediaLibrary]

    init(of stages: [any Stage]) { all = stages.compactMap { ($0 as? AttachmentStage)?.source as? MediaLibrary } }

    /// Of each folder once, though several stages keep media there.
    var figures: [MediaFigures] {
        Dictionary(all.compactMap(\.figures).map { ($0.path, $0) }) { first, second in first.adding(second) }
            .values.sorted { $0.path < $1.path }
    }
}

extension MediaFigures {
    /// Those of one folder that two libraries keep media in: each counts all that is there.
    fileprivate func adding(_ other: MediaFigures) -> MediaFigures {
        MediaFigures(
            path: path, bytes: max(bytes, other.bytes), limit: max(limit, other.limit), free: min(free, other.free),
            refusals: refusals + other.refusals)
    }
}

/// Counts the stages that lost their message, and those that ended after that.
final class AbandonedStages: ChainObserver {
    private let stages: [StageMetrics]

    init(_ metrics: ServiceMetrics) { stages = metrics.stages }

    func stageAbandoned(_ stage: Int, isLate: Bool) {
        if isLate { stages[stage].expired.add() }
        stages[stage].abandoned.add(1)
    }

    func abandonedStageEnded(_ stage: Int) {
        stages[stage].late.add()
        stages[stage].abandoned.add(-1)
    }
}
