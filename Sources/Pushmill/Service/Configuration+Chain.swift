import PushmillStages

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
