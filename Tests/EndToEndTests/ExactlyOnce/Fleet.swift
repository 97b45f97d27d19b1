import Glibc
import Synchronization
import Testing

/// Instances with names of their own. One that has ended is started again under its name.
final class Fleet: Sendable {
    private struct Instance: Sendable {
        let configuration: ServiceConfiguration
        var process: ServiceProcess
    }

    private let scene: Scene
    private let instances: Mutex<[Instance]>

    /// Starts the instances, and does not wait until they are ready.
    init(_ scene: Scene, _ configurations: [ServiceConfiguration]) throws {
        self.scene = scene
        instances = Mutex(
            try configurations.map { Instance(configuration: $0, process: try scene.start($0)) })
    }

    var count: Int { instances.withLock { $0.count } }

    subscript(index: Int) -> ServiceProcess { instances.withLock { $0[index].process } }

    /// The lines of processes that have been replaced.
    private let earlier = Mutex<[Substring]>([])

    func lines(with text: String) -> [Substring] {
        let processes = instances.withLock { $0.map(\.process) }
        return (earlier.withLock { $0 } + processes.flatMap(\.lines)).filter { $0.contains(text) }
    }

    /// Ends an instance by a signal and starts it again. One that has ended itself is left to `tend`.
    func replace(_ index: Int, by signal: Int32) async throws {
        let process = self[index]
        guard process.end == nil else { return }
        process.send(signal)
        try await process.expectEnd(signal == SIGTERM ? .exited(0) : .signalled(signal))
        try start(index)
    }

    /// Stops an instance for that long. The group may have removed it by then, and it may end itself.
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

    /// Starts ended instances again, as an orchestrator does. Returns how each of them ended.
    func tend() throws -> [ServiceProcess.End] {
        var ends: [ServiceProcess.End] = []
        for index in 0..<count {
            guard let end = self[index].end else { continue }
            ends.append(end)
            try start(index)
        }
        return ends
    }

    /// Ends all instances by SIGTERM.
    func end() async throws {
        for index in 0..<count { self[index].send(SIGTERM) }
        for index in 0..<count { try await self[index].expectEnd(.exited(0)) }
    }
}
