import CPushmillProcess
import Glibc
import PushmillPayload
import PushmillStages
import PushmillTelemetry
import Synchronization

extension StageEntry {
    /// A stage for recipients whose name begins with a marker.
    static func marked(
        _ name: String, _ make: @escaping @Sendable (_ marker: String, _ time: Duration) -> any Stage
    ) -> StageEntry {
        StageEntry(name) { settings in
            let time = settings.value("time", .duration(.zero ... .seconds(3600)), default: .zero)
            guard let marker = settings.required("marker", .name) else { return nil }
            return { _ in make(marker, time) }
        }
    }
}

extension StageContext {
    fileprivate func isMarked(_ marker: String) -> Bool { recipient?.hasPrefix(marker) ?? false }
}

/// Takes its time, and ends at once if it is canceled.
struct SleepStage: Stage {
    let name = "sleep"
    let marker: String
    let time: Duration

    func didReceive(_ content: inout NotificationContent, context: StageContext) async throws -> StageResult {
        guard context.isMarked(marker) else { return .skipped }
        try await Task.sleep(for: time)
        return .ok
    }
}

/// Blocks its thread, either at once or after it comes back from a suspension.
struct BlockStage: Stage {
    let name: String
    let suspends: Bool
    let marker: String
    let time: Duration

    func didReceive(_ content: inout NotificationContent, context: StageContext) async throws -> StageResult {
        guard context.isMarked(marker) else { return .skipped }
        if suspends { await Task.yield() }
        holdThread(for: time)
        return .ok
    }
}

/// Blocks its shard's thread: it calls itself immediate, and is not.
struct HoldStage: ImmediateStage {
    let name = "hold"
    let marker: String
    let time: Duration

    func didReceive(_ content: inout NotificationContent, context: StageContext) throws -> StageResult {
        guard context.isMarked(marker) else { return .skipped }
        holdThread(for: time)
        return .ok
    }
}

/// Blocks every thread of Swift's own, the main thread too, in tasks that it starts.
struct SpawnStage: Stage {
    let name = "spawn"
    let marker: String
    let time: Duration

    func didReceive(_ content: inout NotificationContent, context: StageContext) async throws -> StageResult {
        guard context.isMarked(marker) else { return .skipped }
        let time = time
        let tasks = (0..<256).map { _ in Task.detached { holdThread(for: time) } }
        await Task { @MainActor in holdThread(for: time) }.value
        for task in tasks { await task.value }
        return .ok
    }
}

private func holdThread(for time: Duration) {
    let (seconds, attoseconds) = time.components
    var left = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    // A signal cuts the sleep short.
    while withUnsafeMutablePointer(to: &left, { nanosleep($0, $0) }) != 0 {}
}

/// Never returns, canceled or not.
struct HangStage: Stage {
    /// Kept, because a continuation that nothing could resume would be a leak.
    private static let hanging = Mutex<[UnsafeContinuation<Void, Never>]>([])

    let name = "hang"
    let marker: String

    func didReceive(_ content: inout NotificationContent, context: StageContext) async throws -> StageResult {
        guard context.isMarked(marker) else { return .skipped }
        await withUnsafeContinuation { continuation in Self.hanging.withLock { $0.append(continuation) } }
        return .ok
    }
}

/// Waits while a file exists. One thread polls the file for all waiting messages.
final class GateStage: Stage {
    let name: String
    private let marker: String
    /// nil once the file is gone.
    private let waiting = Mutex<[UnsafeContinuation<Void, Never>]?>([])

    init(name: String, marker: String, file: String) throws {
        self.name = name
        self.marker = marker
        _ = try Thread(named: "gate") { [self] in
            // Ten minutes at most: a message that still waits then fails its test.
            for _ in 0..<60_000 where access(file, F_OK) == 0 { usleep(10_000) }
            let passing = waiting.withLock { $0.take() } ?? []
            for continuation in passing { continuation.resume() }
        }
    }

    func didReceive(_ content: inout NotificationContent, context: StageContext) async throws -> StageResult {
        guard context.isMarked(marker) else { return .skipped }
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let isOpen = waiting.withLock { waiting in
                waiting?.append(continuation)
                return waiting == nil
            }
            if isOpen { continuation.resume() }
        }
        return .ok
    }
}

extension StageEntry {
    /// A gate of that name: a chain accepts each name only once.
    static func gate(_ name: String) -> StageEntry {
        StageEntry(name) { settings in
            guard let marker = settings.required("marker", .name), let file = settings.required("file", .file) else {
                return nil
            }
            return { _ in try GateStage(name: name, marker: marker, file: file) }
        }
    }
}

/// Makes a text larger than some producers may send.
struct GrowStage: ImmediateStage {
    let name = "grow"
    let marker: String

    func didReceive(_ content: inout NotificationContent, context: StageContext) throws -> StageResult {
        guard context.isMarked(marker) else { return .skipped }
        content.body = String(repeating: "x", count: 3000)
        return .ok
    }
}

struct FailStage: Stage {
    let name = "fail"
    let marker: String

    func didReceive(_ content: inout NotificationContent, context: StageContext) async throws -> StageResult {
        guard context.isMarked(marker) else { return .skipped }
        throw StageFailure("marked")
    }
}

extension StageEntry {
    /// When its stages are made, logs whether the system lets other processes look into this one. Does nothing else.
    static let memory = StageEntry("memory") { _ in
        { resources in
            resources.log(.info, "memory is \(pushmill_shows_memory() == 1 ? "shown" : "hidden")")
            return BlockStage(name: "memory", suspends: false, marker: "nobody", time: .zero)
        }
    }
}
