package import PushmillEngine
import PushmillStages

/// What is promised about delivery, and the limits within.
package struct DeliverySettings: Sendable {
    package enum Guarantee: String, CaseIterable, Sendable {
        case atLeastOnce = "at-least-once"
        case exactlyOnce = "exactly-once"
    }

    /// What becomes of a notification that expired before its turn.
    package enum Expired: String, CaseIterable, Sendable { case publish, drop }

    package let guarantee: Guarantee
    package let ordering: ShardSettings.Ordering
    package let deadline: Duration
    package let expired: Expired
    package let maximalInFlight: Int
    package let maximalInFlightBytes: Int
    package let checkpointInterval: Duration
    package let drain: Duration
    package let shutdownGrace: Duration
    /// Nil for as many as this process may use.
    package let cores: Int?

    init(from settings: inout SettingReader) {
        guarantee = settings.value("guarantee", .choice(Guarantee.self), default: .atLeastOnce)
        ordering = settings.value("ordering", .choice(ShardSettings.Ordering.self), default: .key)
        deadline = settings.value("deadline", .duration(.milliseconds(1) ... .seconds(3600)), default: .seconds(30))
        expired = settings.value("expired", .choice(Expired.self), default: .publish)
        maximalInFlight = settings.value("max-in-flight", .integer(1...10_000_000), default: 10_000)
        maximalInFlightBytes = settings.value("max-in-flight-bytes", .byteSize(1 << 20...64 << 30), default: 64 << 20)
        checkpointInterval = settings.value(
            "checkpoint-interval", .duration(.milliseconds(1) ... .seconds(60)),
            default: guarantee == .exactlyOnce ? .milliseconds(100) : .milliseconds(20))
        drain = settings.value("drain", .duration(.zero ... .seconds(300)), default: .seconds(5))
        shutdownGrace = settings.value("shutdown-grace", .duration(.zero ... .seconds(3600)), default: .seconds(25))
        cores = settings.value("cores", .cores, default: nil)
        settings.renamed("lanes", to: "cores")
    }
}

extension SettingFormat where Value == Int? {
    fileprivate static var cores: Self {
        Self(
            parse: { text throws(SettingMismatch) in
                if text == "auto" { return nil }
                guard let count = Int(text), (1...256).contains(count) else {
                    throw SettingMismatch(expected: "auto, or an integer from 1 to 256")
                }
                return count
            }, render: { $0.map { String($0) } ?? "auto" })
    }
}
