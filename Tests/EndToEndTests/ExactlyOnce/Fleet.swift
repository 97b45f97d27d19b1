import Glibc
import Synchronization
import Testing

/// Instances with names of their own, each of which comes again under its name when it has gone.
final class Fleet: Sendable {
    private struct Instance: Sendable {
        let configuration: ServiceConfiguration
        var process: ServiceProcess
        /// Stopped, or killed on purpose: not to be started again yet.
        var isDown = false
    }

    private let scene: Scene
    private let instances: Mutex<[Instance]>

    /// Starts them; none is ready yet.
    init(_ scene: Scene, _ configurations: [ServiceConfiguration]) throws {
        self.scene = scene
        instances = Mutex(
            try configurations.map { Instance(configuration: $0, process: try scene.start($0)) })
    }

    var count: Int { instances.withLock { $0.count } }

    subscript(index: Int) -> ServiceProcess { instances.withLock { $0[index].process } }

    /// Every line that any of them has said, also before it came again.
    private let earlier = Mutex<[Substring]>([])

    func lines(with text: String) -> [Substring] {
        let processes = instances.withLock { $0.map(\.process) }
        return (earlier.withLock { $0 } + processes.flatMap(\.lines)).filter { $0.contains(text) }
    }

    /// Ends one by a signal and starts it anew.
    func replace(_ index: Int, by signal: Int32) async throws {
        let process = self[index]
        process.send(signal)
        try await process.waitForEnd()
        try start(index)
    }

    /// Keeps one from running for so long. It may be no member any more then, and end itself.
    func pause(_ index: Int, for duration: Duration) async throws {
        let process = self[index]
        process.send(SIGSTOP)
        try await Task.sleep(for: duration)
        process.send(SIGCONT)
    }

    private func start(_ index: Int) throws {
        try instances.withLock { instances in
            earlier.withLock { $0 += instances[index].process.lines }
            instances[index].process = try scene.start(instances[index].configuration)
        }
    }

    /// As an orchestrator does: who has ended is started again. Gives how each has ended.
    func tend() throws -> [ServiceProcess.End] {
        var ends: [ServiceProcess.End] = []
        for index in 0..<count {
            guard let end = self[index].end else { continue }
            ends.append(end)
            try start(index)
        }
        return ends
    }

    /// Ends all, in order.
    func end() async throws {
        for index in 0..<count { self[index].send(SIGTERM) }
        for index in 0..<count { try await self[index].expectEnd(.exited(0)) }
    }
}
