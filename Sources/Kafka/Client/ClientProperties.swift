internal import CPushmillRdKafka

/// librdkafka's own properties by their own names, in order; a later one wins.
public struct ClientProperties: Sendable, Equatable {
    public private(set) var entries: [(name: String, value: String)]

    public init(_ entries: [(name: String, value: String)] = []) { self.entries = entries }

    public subscript(name: String) -> String? {
        get { entries.last { $0.name == name }?.value }
        set {
            entries.removeAll { $0.name == name }
            if let newValue { entries.append((name, newValue)) }
        }
    }

    public static func == (left: ClientProperties, right: ClientProperties) -> Bool {
        left.entries.elementsEqual(right.entries) { $0 == $1 }
    }

    /// What librdkafka itself says against one property; nil when it takes it.
    public static func problem(with name: String, value: String) -> String? {
        let configuration = rd_kafka_conf_new()
        defer { rd_kafka_conf_destroy(configuration) }
        return set(name, value, in: configuration)?.message
    }

    static func set(_ name: String, _ value: String, in configuration: OpaquePointer?) -> KafkaError? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { reason in
            guard rd_kafka_conf_set(configuration, name, value, reason.baseAddress, reason.count) != RD_KAFKA_CONF_OK
            else { return nil }
            return KafkaError(RD_KAFKA_RESP_ERR__INVALID_ARG, message: reason.baseAddress.map { String(cString: $0) })
        }
    }
}
