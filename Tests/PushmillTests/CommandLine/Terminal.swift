import PushmillStages
import Synchronization

@testable import Pushmill

/// Records what a command writes.
final class Terminal: Sendable {
    private let registry: StageRegistry
    private let isTerminal: Bool
    private let input: Mutex<[UInt8]>
    private let shown = AsyncStream.makeStream(of: Void.self)
    private let written = Mutex<(output: [String], error: [String], status: [String])>(([], [], []))

    /// The input comes in pieces of a few bytes.
    init(registry: StageRegistry = StageRegistry(), input: String = "", isTerminal: Bool = false) {
        self.registry = registry
        self.isTerminal = isTerminal
        self.input = Mutex(Array(input.utf8))
    }

    var output: String { written.withLock { $0.output.joined(separator: "\n") } }
    var error: String { written.withLock { $0.error.joined(separator: "\n") } }
    /// All progress that was shown, in order.
    var status: [String] { written.withLock { $0.status } }

    /// Waits until progress is shown.
    func waitForStatus() async { for await _ in shown.stream { return } }

    private func surroundings(_ environment: [String: String]) -> Surroundings {
        let console = Console(
            output: { [self] line in written.withLock { $0.output.append(line) } },
            error: { [self] line in written.withLock { $0.error.append(line) } },
            input: { [self] () throws(ProgramError) in
                input.withLock { rest in
                    defer { rest = Array(rest.dropFirst(7)) }
                    return Array(rest.prefix(7))
                }
            },
            status: { [self] text in
                written.withLock { $0.status.append(text) }
                shown.continuation.yield()
            }, isTerminal: isTerminal)
        return Surroundings(
            registry: registry, environment: environment, console: console)
    }

    func run(_ table: CommandTable, _ line: String, environment: [String: String] = [:]) async -> ExitCode {
        let arguments = line.split(separator: " ").map { String($0) }
        return await table.run(arguments, surroundings(environment))
    }
}
