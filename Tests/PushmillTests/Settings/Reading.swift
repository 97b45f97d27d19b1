import PushmillStages

@testable import Pushmill

/// A configuration read from a text, as a test sees it.
struct Reading {
    let configuration: Configuration?
    /// One line each.
    let problems: [String]

    init(
        _ yaml: String, environment: [String: String] = [:], registry: StageRegistry = StageRegistry()
    ) {
        let source = ConfigurationSource(registry: registry, environment: environment)
        do throws(ProgramError) {
            configuration = try source.read(Array(yaml.utf8), name: "f.yaml", folder: "/etc/pushmill")
            problems = []
        } catch {
            configuration = nil
            problems = error.description.split(separator: "\n").map { String($0) }
        }
    }
}
