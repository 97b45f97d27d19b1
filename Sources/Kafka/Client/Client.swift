internal import CPushmillRdKafka
internal import Dispatch
import Synchronization

/// A line that librdkafka logs, with its syslog level (3 error, 4 warning, 6 info, 7 debug).
public typealias KafkaLogSink = @Sendable (_ level: Int32, _ facility: String, _ message: String) -> Void

/// The owner of one `rd_kafka_t`. librdkafka's handles may be used from any thread.
final class Client: Sendable {
    nonisolated(unsafe) let handle: OpaquePointer
    let sinks: ClientSinks

    /// `prepare` sets what only a consumer or a producer needs; it gets the configuration before the client is made.
    init(
        _ type: rd_kafka_type_t, _ properties: ClientProperties, log: @escaping KafkaLogSink,
        prepare: ((OpaquePointer, ClientSinks) -> Void)? = nil
    ) throws(KafkaError) {
        let sinks = ClientSinks(log: log)
        self.sinks = sinks
        guard let configuration = rd_kafka_conf_new() else { throw KafkaError("out of memory") }
        for (name, value) in properties.entries {
            if let error = ClientProperties.set(name, value, in: configuration) {
                rd_kafka_conf_destroy(configuration)
                throw error
            }
        }
        rd_kafka_conf_set_opaque(configuration, Unmanaged.passUnretained(sinks).toOpaque())
        rd_kafka_conf_set_log_cb(configuration, onLog)
        rd_kafka_conf_set_stats_cb(configuration, onStatistics)
        rd_kafka_conf_set_error_cb(configuration, onError)
        prepare?(configuration, sinks)
        let (made, reason) = withReason { rd_kafka_new(type, configuration, $0, $1) }
        guard let handle = made else {
            // After a failure the configuration is still ours. But 2.0.2 has already freed the interceptors that
            // `prepare` gives a consumer (`rd_kafka_new`) and would free them again: that configuration is leaked.
            if type == RD_KAFKA_PRODUCER || prepare == nil { rd_kafka_conf_destroy(configuration) }
            throw KafkaError(RD_KAFKA_RESP_ERR__INVALID_ARG, message: reason)
        }
        self.handle = handle
    }

    /// A consumer's queue, which from now on gets events too. The caller must destroy it.
    func consumerQueue() throws(KafkaError) -> OpaquePointer {
        rd_kafka_poll_set_consumer(handle)
        guard let queue = rd_kafka_queue_get_consumer(handle) else { throw KafkaError("no consumer queue") }
        return queue
    }

    func subscribe(to topics: [String]) throws(KafkaError) {
        let list = PartitionList(topics.map { TopicPartition($0, -1) })
        if let error = KafkaError(ifAny: rd_kafka_subscribe(handle, list.pointer)) { throw error }
    }

    /// The caller must destroy it.
    func topic(_ name: String) throws(KafkaError) -> OpaquePointer {
        guard let topic = rd_kafka_topic_new(handle, name, nil) else { throw KafkaError(rd_kafka_last_error()) }
        return topic
    }

    /// Why librdkafka rejects these properties together; nil if it does not. Connects to nothing.
    static func problem(_ type: rd_kafka_type_t, _ properties: ClientProperties) -> KafkaError? {
        var properties = properties
        properties["bootstrap.servers"] = nil
        do throws(KafkaError) {
            _ = try Client(type, properties, log: { _, _, _ in })
            return nil
        } catch {
            return error
        }
    }

    /// Does not leave a group, since no deinit should wait for the coordinator's answer: `GroupConsumer.leave` does.
    deinit {
        guard isDestroyable else {
            // The client lives until the process ends. Its callbacks need their sinks until then.
            _ = Unmanaged.passRetained(sinks)
            return
        }
        // librdkafka 2.0.2 may never finish ending a client that has failed or has read a deleted topic.
        let sinks = sinks
        nonisolated(unsafe) let handle = handle
        // A semaphore would wait until a wall-clock time, and that clock may be set back meanwhile.
        let ended = DispatchGroup()
        DispatchQueue(label: "pushmill.remains").async(group: ended) {
            rd_kafka_destroy_flags(handle, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
            withExtendedLifetime(sinks) {}
        }
        _ = ended.wait(timeout: .now() + Self.endPatience)
    }

    /// Seconds to wait for the end of a client.
    private static var endPatience: Double { 1 }

    var isDestroyable: Bool {
        // librdkafka 2.0.2 aborts the process (`rd_kafka_sticky_assignor_state_destroy`) if a member is destroyed that
        // has joined its group and was not told its partitions yet.
        guard !sinks.joins.hasBegun || sinks.group.wasTold else { return false }
        // A client that has failed accepts no answer to an assignment (`rd_kafka_cgrp_handle_assign_op`): destroying it
        // would wait for that forever, using a full core.
        guard !sinks.group.isAssigning else { return false }
        // Destroying waits as leaving does: commits to an unavailable coordinator may block it forever.
        return !sinks.group.isLeaving || rd_kafka_consumer_closed(handle) != 0
    }

    var isFatal: Bool { rd_kafka_fatal_error(handle, nil, 0) != RD_KAFKA_RESP_ERR_NO_ERROR }

    /// The error that made the client unusable, once there is one.
    var fatalError: KafkaError? {
        guard isFatal else { return nil }
        let (code, reason) = withReason { rd_kafka_fatal_error(handle, $0, $1) }
        return KafkaError(code, message: reason)
    }
}

/// The targets of a client's callbacks. Lives as long as its client: librdkafka holds it unretained.
final class ClientSinks: Sendable {
    let log: KafkaLogSink
    /// Only for the thread that polls the client, which has ended by the time the client goes.
    nonisolated(unsafe) let group = GroupInbox()
    let joins = JoinWatch()
    let statistics = StatisticsInbox()
    /// Why there is no connection to any broker.
    let refusal = Mutex<KafkaError?>(nil)
    /// Why the last transaction failed. librdkafka tells it only in its log, and the next calls report what came of it.
    let transactionFailure = Mutex<String?>(nil)

    init(log: @escaping KafkaLogSink) { self.log = log }

    static func from(_ opaque: UnsafeMutableRawPointer?) -> ClientSinks? {
        opaque.map { Unmanaged<ClientSinks>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// Called by librdkafka on any of its threads; must not call back into it.
private func onLog(
    client: OpaquePointer?, level: Int32, facility: UnsafePointer<CChar>?, message: UnsafePointer<CChar>?
) {
    guard let client, let facility, let message, let sinks = ClientSinks.from(rd_kafka_opaque(client)) else { return }
    let (kind, text) = (String(cString: facility), String(cString: message))
    // A partition that is refused is named here only; the others of its request were not attempted.
    let isRefusal = kind == "ADDPARTS" && !text.hasSuffix("Operation not attempted")
    if kind == "TXNERR" || isRefusal { sinks.transactionFailure.withLock { $0 = $0 ?? text } }
    sinks.log(level, kind, text)
}

/// Called during a poll. The error is logged already, and a fatal error stays readable, so only the reason for a
/// refused connection is kept. Without this callback, librdkafka would log the error a second time.
private func onError(
    client: OpaquePointer?, code: Int32, message: UnsafePointer<CChar>?, opaque: UnsafeMutableRawPointer?
) {
    let error = KafkaError(rd_kafka_resp_err_t(rawValue: code), message: message.map { String(cString: $0) })
    guard let sinks = ClientSinks.from(opaque) else { return }
    if error.isLogin || error.isTLS {
        sinks.refusal.withLock { $0 = error }
    } else if error.isOfAllBrokers {
        sinks.refusal.withLock { $0 = $0 ?? error }
    }
}

/// Called within a poll when `statistics.interval.ms` has passed. Returning 0 lets librdkafka free the text.
private func onStatistics(
    client: OpaquePointer?, text: UnsafeMutablePointer<CChar>?, length: Int, opaque: UnsafeMutableRawPointer?
) -> Int32 {
    guard let text, let sinks = ClientSinks.from(opaque) else { return 0 }
    sinks.statistics.take(Array(UnsafeRawBufferPointer(start: text, count: length)))
    return 0
}
