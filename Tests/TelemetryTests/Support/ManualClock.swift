import Synchronization
import PushmillTelemetry

/// A clock that stands still until a test advances it.
final class ManualClock: Sendable {
    private let time: Mutex<Int64>

    /// 2026-01-31T09:08:07.006Z, unless another is given.
    init(_ time: Int64 = 1_769_850_487_006_000_000) { self.time = Mutex(time) }

    var clock: WallClock { WallClock { [self] in time.withLock { $0 } } }

    func advance(seconds: Int64) { time.withLock { $0 += seconds * 1_000_000_000 } }
}
