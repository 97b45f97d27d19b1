internal import CPushmillRdKafka
internal import Glibc
internal import Synchronization

/// Whether the member is rejoining: from its join request until it is told the result, over any number of further
/// requests. librdkafka shows the beginning only by its requests: it reports nothing when a member of a cooperative
/// group learns of a rebalance.
final class JoinWatch: Sendable {
    /// The `joinsSince` time; 0 if the member is not joining.
    private let begun = Atomic<UInt64>(0)
    /// When the client last asked to join, in nanoseconds of the monotonic clock; 0 for never.
    private let asked = Atomic<UInt64>(0)
    /// The `mayJoinUntil` time.
    private let uncertainUntil = Atomic<UInt64>(0)

    /// The client has asked to join at least once.
    var hasBegun: Bool { asked.load(ordering: .acquiring) != 0 }

    var isJoining: Bool { begun.load(ordering: .acquiring) != 0 }

    /// In nanoseconds of the monotonic clock; nil if the member is not joining.
    var joinsSince: UInt64? {
        let time = begun.load(ordering: .acquiring)
        return time == 0 ? nil : time
    }

    /// librdkafka may join just now. Until this time, in nanoseconds of the monotonic clock, the join request may be on
    /// its way to the broker's thread, and `isJoining` does not show it yet.
    var mayJoinUntil: UInt64 {
        let (now, asked) = (Self.now, asked.load(ordering: .acquiring))
        let due = asked &+ Self.backoff
        let isDue = asked > 0 && now &+ Self.handover >= due && now < due &+ Self.handover
        return max(uncertainUntil.load(ordering: .acquiring), isDue ? due &+ Self.handover : 0)
    }

    /// Two threads of librdkafka pass the request on, which takes some 0.1 ms, and more on a busy machine.
    private static let handover: UInt64 = 10_000_000
    /// A join that soon after the last one is put off until librdkafka's main thread next wakes up after this time
    /// (`rkcg_join_intvl`).
    private static let backoff: UInt64 = 1_000_000_000

    /// An answer to such a request may make librdkafka join. Any answer may, if a join was put off.
    func noteAnswer(_ key: Int16, at now: @autoclosure () -> UInt64) {
        guard key != Self.fetch else { return }
        let now = now()
        let isPutOff = now < asked.load(ordering: .acquiring) &+ Self.backoff &+ 10 &* Self.handover
        guard key == Self.heartbeat || key == Self.metadata || isPutOff else { return }
        uncertainUntil.store(now &+ Self.handover, ordering: .releasing)
    }

    fileprivate func noteRequest(_ key: Int16) {
        guard key == Self.joinGroup else { return }
        let now = Self.now
        asked.store(now, ordering: .releasing)
        expect(since: now)
    }

    /// A join request is about to be sent: the broker's thread would note it too late.
    func expect(since now: UInt64) {
        _ = begun.compareExchange(expected: 0, desired: now, ordering: .acquiringAndReleasing)
    }

    static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    /// The member was told the result. False if it has not joined since the previous result.
    func end() -> Bool { begun.exchange(0, ordering: .acquiringAndReleasing) != 0 }

    private static let fetch: Int16 = 1
    private static let metadata: Int16 = 3
    private static let joinGroup: Int16 = 11
    private static let heartbeat: Int16 = 12

    /// Reports to `sinks`, which must live as long as the client that is made with this configuration.
    static func begin(_ configuration: OpaquePointer, _ sinks: ClientSinks) {
        rd_kafka_conf_interceptor_add_on_new(configuration, "join", onNew, Unmanaged.passUnretained(sinks).toOpaque())
    }
}

/// Called by librdkafka while it makes the client.
private func onNew(
    client: OpaquePointer?, configuration: OpaquePointer?, opaque: UnsafeMutableRawPointer?,
    reason: UnsafeMutablePointer<CChar>?, size: Int
) -> rd_kafka_resp_err_t {
    let code = rd_kafka_interceptor_add_on_request_sent(client, "join", onRequest, opaque)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { return code }
    return rd_kafka_interceptor_add_on_response_received(client, "join", onAnswer, opaque)
}

/// Called by librdkafka on a broker's thread, for every request; must not call back into it.
private func onRequest(
    client: OpaquePointer?, socket: Int32, name: UnsafePointer<CChar>?, broker: Int32, key: Int16, version: Int16,
    number: Int32, size: Int, opaque: UnsafeMutableRawPointer?
) -> rd_kafka_resp_err_t {
    ClientSinks.from(opaque)?.joins.noteRequest(key)
    return RD_KAFKA_RESP_ERR_NO_ERROR
}

/// Called by librdkafka on a broker's thread before it passes an answer on, and on its main thread before that handles
/// it; must not call back into it.
private func onAnswer(
    client: OpaquePointer?, socket: Int32, name: UnsafePointer<CChar>?, broker: Int32, key: Int16, version: Int16,
    number: Int32, size: Int, time: Int64, error: rd_kafka_resp_err_t, opaque: UnsafeMutableRawPointer?
) -> rd_kafka_resp_err_t {
    ClientSinks.from(opaque)?.joins.noteAnswer(key, at: JoinWatch.now)
    return RD_KAFKA_RESP_ERR_NO_ERROR
}
