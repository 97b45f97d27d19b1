import Push

extension Configuration {
    /// Builds the stages of the chain; opens what they need.
    func links(_ resources: StageResources) async throws(ProgramError) -> [ChainLink] {
        var links: [ChainLink] = []
        var problems: [SettingProblem] = []
        for stage in stages {
            do throws(SettingProblem) {
                links.append(
                    ChainLink(try await stage.build(resources), condition: stage.condition, budget: stage.budget))
            } catch {
                problems.append(error)
            }
        }
        guard problems.isEmpty else { throw .configuration(problems) }
        return links
    }
}
