import Glibc
import Synchronization

/// The rendered metrics. Scrapes that come within a moment of each other share one rendering.
final class MetricsPage: Sendable {
    private struct Rendering {
        let time: Int64
        let bytes: SharedBytes
    }

    private static let lifetime: Int64 = 100_000_000

    private let registry: MetricRegistry
    private let clock: WallClock
    private let renderings = Mutex<[Exposition.Format: Rendering]>([:])

    init(_ registry: MetricRegistry, clock: WallClock = .system) {
        self.registry = registry
        self.clock = clock
    }

    func bytes(_ format: Exposition.Format) -> SharedBytes {
        let now = clock.now()
        if let known = renderings.withLock({ $0[format] }), (0..<Self.lifetime).contains(now &- known.time) {
            return known.bytes
        }
        let bytes = SharedBytes(registry.render(format))
        renderings.withLock { $0[format] = Rendering(time: now, bytes: bytes) }
        return bytes
    }
}
