import Synchronization

@testable import Pushmill

/// What a command has written.
final class Terminal: Sendable {
    private let written = Mutex<(output: [String], error: [String])>(([], []))

    var output: String { written.withLock { $0.output.joined(separator: "\n") } }
    var error: String { written.withLock { $0.error.joined(separator: "\n") } }

    private func surroundings(_ environment: [String: String]) -> Surroundings {
        let console = Console(
            output: { [self] line in written.withLock { $0.output.append(line) } },
            error: { [self] line in written.withLock { $0.error.append(line) } })
        return Surroundings(
            registry: .example, environment: environment, console: console, checkProperty: { _, _, _ in nil })
    }

    func run(_ table: CommandTable, _ line: String, environment: [String: String] = [:]) async -> ExitCode {
        let arguments = line.split(separator: " ").map { String($0) }
        return await table.run(arguments, surroundings(environment))
    }
}
