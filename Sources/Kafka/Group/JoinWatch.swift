internal import CPushmillRdKafka
internal import Synchronization

/// Whether the group is being joined anew, which librdkafka tells in no other way than by its requests: not when a
/// member of a cooperative group learns of a rebalance, but only when that is over.
final class JoinWatch: Sendable {
    private let isAwaited = Atomic<Bool>(false)
    private let hasAsked = Atomic<Bool>(false)

    /// The client has asked to become a member, at least once.
    var hasBegun: Bool { hasAsked.load(ordering: .acquiring) }

    var isJoining: Bool { isAwaited.load(ordering: .acquiring) }

    fileprivate func note(_ key: Int16, isAwaited: Bool) {
        guard key == Self.joinGroup || key == Self.syncGroup else { return }
        if isAwaited { hasAsked.store(true, ordering: .releasing) }
        self.isAwaited.store(isAwaited, ordering: .releasing)
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
    ClientSinks.from(opaque)?.joins.note(key, isAwaited: true)
    return RD_KAFKA_RESP_ERR_NO_ERROR
}

/// Called by librdkafka on any of its threads just before it looks at a response, or at what came instead of one.
private func onResponse(
    client: OpaquePointer?, socket: Int32, name: UnsafePointer<CChar>?, broker: Int32, key: Int16, version: Int16,
    number: Int32, size: Int, time: Int64, error: rd_kafka_resp_err_t, opaque: UnsafeMutableRawPointer?
) -> rd_kafka_resp_err_t {
    ClientSinks.from(opaque)?.joins.note(key, isAwaited: false)
    return RD_KAFKA_RESP_ERR_NO_ERROR
}
