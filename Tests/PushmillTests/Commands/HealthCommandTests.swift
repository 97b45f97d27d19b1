import PushmillStages
import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("health")
struct HealthCommandTests {
    private let folder: ConfigurationFolder

    init() throws {
        folder = try ConfigurationFolder(
            "{ kafka: { bootstrap.servers: h }, admin: { listen: \"127.0.0.2:1\" }, stages: [] }")
    }

    /// Runs the command, which gets no answer, and returns its error.
    private func asked(_ line: String, _ environment: [String: String] = [:]) async -> String {
        let terminal = Terminal(registry: StageRegistry(adding: []))
        await expect(terminal.run(Program.commands, "health \(line)", environment: environment), is: .different)
        return terminal.error
    }

    @Test("The address comes from the option, else the variable, else the configuration")
    func address() async {
        let config = "--config \(folder.file)"
        let variable = ["PUSHMILL_ADMIN_LISTEN": "127.0.0.3:1"]
        #expect(await asked("\(config) --address 127.0.0.4:1", variable).contains("from 127.0.0.4:1:"))
        #expect(await asked(config, variable).contains("from 127.0.0.3:1:"))
        #expect(await asked(config).contains("from 127.0.0.2:1:"))
    }

    @Test("If the configuration cannot be read, health asks at the usual address and says so")
    func unreadable() async {
        let missing = "\(folder.path)/missing.yaml"
        let terminal = Terminal(registry: StageRegistry(adding: []))
        // Whether a service answers there does not matter.
        _ = await terminal.run(Program.commands, "health --config \(missing)")
        #expect(terminal.error.hasPrefix("cannot read the address from \(missing): using the default"))
    }
}
