import PushmillStages

@testable import Pushmill

/// Any file reads as a configuration that can be shown, or as a list of problems.
final class ConfigurationTarget: FuzzTarget {
    static let names = ["configuration"]

    private let source = ConfigurationSource(
        registry: StageRegistry(), environment: [:])

    init(_ name: String) {}

    func run(_ bytes: [UInt8]) throws {
        let shown: String
        do throws(ProgramError) {
            shown = YAMLText.render(try source.read(bytes, name: "f.yaml", folder: "/etc").effective)
        } catch {
            return try promise(!error.description.isEmpty, "refused without a reason")
        }
        let document = YAMLDocument(Array(shown.utf8), file: "shown.yaml")
        try promise(document.problems.isEmpty, "shown as what cannot be read")
        try promise(document.root.map(YAMLText.render) == shown, "shown as another configuration")
    }
}
