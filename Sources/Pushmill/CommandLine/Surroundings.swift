package import PushmillStages

/// What a command finds around it.
package struct Surroundings: Sendable {
    package let registry: StageRegistry
    package let environment: [String: String]
    package let console: Console
    let checkProperty: Configuration.PropertyCheck

    package init(
        registry: StageRegistry, environment: [String: String], console: Console,
        checkProperty: @escaping Configuration.PropertyCheck
    ) {
        self.registry = registry
        self.environment = environment
        self.console = console
        self.checkProperty = checkProperty
    }

    package var configurationSource: ConfigurationSource {
        ConfigurationSource(registry: registry, environment: environment, checkProperty: checkProperty)
    }
}
