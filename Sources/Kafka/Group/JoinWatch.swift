internal import CPushmillRdKafka
internal import Glibc
internal import Synchronization

/// Whether the group is being joined anew, which librdkafka tells in no other way than by its requests: not when a
/// member of a cooperative group learns of a rebalance, but only when that is over.
final class JoinWatch: Sendable {
    private let isAwaited = Atomic<Bool>(false)
    private let hasAsked = Atomic<Bool>(false)
    private let firstSent = Atomic<UInt64>(0)

    /// The client has asked to become a member, at least once.
    var hasBegun: Bool { hasAsked.load(ordering: .acquiring) }

    var isJoining: Bool { isAwaited.load(ordering: .acquiring) }

    /// When the first request was sent since the group told last what is whose, in nanoseconds of the monotonic clock; 0
    /// where it was asked nothing since.
    var joinsSince: UInt64 { firstSent.load(ordering: .acquiring) }

    func sent(_ key: Int16, at time: @autoclosure () -> UInt64) {
        guard key == Self.joinGroup || key == Self.syncGroup else { return }
        hasAsked.store(true, ordering: .releasing)
        isAwaited.store(true, ordering: .releasing)
        if joinsSince == 0 { firstSent.store(time(), ordering: .releasing) }
    }

    /// `isFailure`: there is no answer, and none to come.
    func answered(_ key: Int16, isFailure: Bool) {
        guard key == Self.joinGroup || key == Self.syncGroup else { return }
        isAwaited.store(false, ordering: .releasing)
        if key == Self.syncGroup, !isFailure { firstSent.store(0, ordering: .releasing) }
    }

    private static let joinGroup: Int16 = 11
    private static let syncGroup: Int16 = 14

    /// By the watch of these sinks, which must live as long as the client that is made with this configuration.
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
    return rd_kafka_interceptor_add_on_response_received(client, "join", onResponse, opaque)
}

/// Called by librdkafka on a broker's thread, for every request; must not call back into it.
private func onRequest(
    client: OpaquePointer?, socket: Int32, name: UnsafePointer<CChar>?, broker: Int32, key: Int16, version: Int16,
    number: Int32, size: Int, opaque: UnsafeMutableRawPointer?
) -> rd_kafka_resp_err_t {
    ClientSinks.from(opaque)?.joins.sent(key, at: nanoseconds)
    return RD_KAFKA_RESP_ERR_NO_ERROR
}

private var nanoseconds: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
}

/// Called by librdkafka on any of its threads just before it looks at a response, or at what came instead of one.
private func onResponse(
    client: OpaquePointer?, socket: Int32, name: UnsafePointer<CChar>?, broker: Int32, key: Int16, version: Int16,
    number: Int32, size: Int, time: Int64, error: rd_kafka_resp_err_t, opaque: UnsafeMutableRawPointer?
) -> rd_kafka_resp_err_t {
    ClientSinks.from(opaque)?.joins.answered(key, isFailure: error != RD_KAFKA_RESP_ERR_NO_ERROR)
    return RD_KAFKA_RESP_ERR_NO_ERROR
}
