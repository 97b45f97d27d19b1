import FoundationEssentials
import PushmillPayload
package import PushmillStages

/// Everything that a configuration is made from, except its file.
package struct ConfigurationSource {
    private let registry: StageRegistry
    private let overrides: SettingOverrides

    package init(registry: StageRegistry, environment: [String: String]) {
        self.registry = registry
        overrides = SettingOverrides(
            prefix: "PUSHMILL", variables: environment,
            foreign: Set(environment.filter { $0.key.hasPrefix("PUSHMILL_") && Self.isForeign($0.key, $0.value) }.keys))
    }

    package func read(file path: String) throws(ProgramError) -> Configuration {
        let isInput = InputFile.isStandardInput(path)
        let bytes = try explaining(as: ProgramError.unreadableConfiguration) {
            try InputFile(path: path).rest(limit: 1 << 20)
        }
        return try read(bytes, name: path, folder: Self.folder(of: isInput ? "" : path))
    }

    /// `name` is the name of the file in problems; relative paths start at `folder`.
    package func read(_ yaml: [UInt8], name: String, folder: String) throws(ProgramError) -> Configuration {
        let document = YAMLDocument(yaml, file: name)
        guard let root = document.root else { throw .configuration(document.problems) }
        var settings = SettingReader(root, folder: folder, overrides: overrides)
        let configuration = Configuration(from: &settings, registry: registry)
        settings.finish()
        let problems = document.problems + settings.problems + settings.overrides.problems
        guard problems.isEmpty else { throw .configuration(problems.sorted { $0.place < $1.place }) }
        return configuration
    }

    /// Not settings: in every container, Kubernetes and Docker set variables for a service called pushmill; Docker's
    /// links add its name and its environment. Tests have variables of their own.
    private static func isForeign(_ name: String, _ value: String) -> Bool {
        name.hasPrefix("PUSHMILL_TEST_") || name.hasSuffix("_SERVICE_HOST")
            || name.hasSuffix("_PORT") && value.contains("://")
            || name.hasSuffix("_NAME") && value.hasPrefix("/")
            || name.contains(/_SERVICE_PORT(_|$)|_PORT_[0-9]+_(TCP|UDP|SCTP)(_|$)|_ENV_/)
    }

    /// The absolute folder at which the relative paths of a configuration start.
    static func folder(of path: String) -> String {
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        return folder.hasPrefix("/") ? String(folder) : "\(FileManager.default.currentDirectoryPath)/\(folder)"
    }
}
