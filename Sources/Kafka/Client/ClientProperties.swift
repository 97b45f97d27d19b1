internal import CPushmillRdKafka
import Glibc

/// librdkafka's own properties by their own names, in order; the last one of a name wins.
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

    /// A copy in which these values replace those of the same name.
    func overridden(by fixed: [(name: String, value: String)]) -> ClientProperties {
        var properties = self
        for (name, value) in fixed { properties[name] = value }
        return properties
    }

    public static func == (left: ClientProperties, right: ClientProperties) -> Bool {
        left.entries.elementsEqual(right.entries) { $0 == $1 }
    }

    /// Why librdkafka rejects or misreads one property; nil if it does neither.
    public static func problem(with name: String, value: String) -> String? {
        let configuration = rd_kafka_conf_new()
        defer { rd_kafka_conf_destroy(configuration) }
        return set(name, value, in: configuration)?.message ?? misreading(of: name, value, in: configuration)
    }

    /// librdkafka silently reads `30s` as 30, and `0600` as an octal number.
    private static func misreading(of name: String, _ value: String, in configuration: OpaquePointer?) -> String? {
        let plain = "+-.0123456789".utf8
        guard value.utf8.count < 512, let first = value.utf8.first, plain.contains(first) else { return nil }
        let (result, text) = withReason { text, size in
            var size = size
            return rd_kafka_conf_get(configuration, name, text, &size)
        }
        guard result == RD_KAFKA_CONF_OK, text != value, let read = Double(text) else { return nil }
        // librdkafka shows fractional properties with six digits. Properties shown without a dot accept no fraction.
        if value.utf8.allSatisfy({ plain.contains($0) }), let meant = Double(value),
            abs(meant - read) <= abs(read) / 100_000, text.utf8.contains(UInt8(ascii: ".")) || Int(value) != nil
        {
            return nil
        }
        return "is read as \(text): write a plain number, in the property's own unit"
    }

    static func set(_ name: String, _ value: String, in configuration: OpaquePointer?) -> KafkaError? {
        let (result, reason) = withReason { rd_kafka_conf_set(configuration, name, value, $0, $1) }
        guard result != RD_KAFKA_CONF_OK else { return nil }
        // Some of librdkafka's reasons end with a newline.
        let line = reason.hasSuffix("\n") ? String(reason.dropLast()) : reason
        return KafkaError(RD_KAFKA_RESP_ERR__INVALID_ARG, message: line)
    }
}

/// A property that this librdkafka documents.
public struct KnownProperty: Sendable {
    public let name: String
    public let isForConsumers: Bool
    public let isForProducers: Bool

    /// All of them. librdkafka lists them only as a table of text.
    public static let all: [KnownProperty] = table().split(separator: "\n").compactMap { KnownProperty(line: $0) }

    /// `name | C/P | …`, with a star for both.
    private init?(line: Substring) {
        let columns = line.split(separator: "|").prefix(2).map { $0.filter { $0 != " " } }
        guard columns.count == 2, ["C", "P", "*"].contains(columns[1]) else { return nil }
        name = columns[0]
        isForConsumers = columns[1] != "P"
        isForProducers = columns[1] != "C"
    }

    private static func table() -> String {
        var text: UnsafeMutablePointer<CChar>?
        var size = 0
        // The stream keeps both addresses until it is closed.
        return withUnsafeMutablePointer(to: &text) { text in
            withUnsafeMutablePointer(to: &size) { size in
                guard let stream = open_memstream(text, size) else { return "" }
                rd_kafka_conf_properties_show(stream)
                fclose(stream)
                defer { free(text.pointee) }
                return text.pointee.map { String(cString: $0) } ?? ""
            }
        }
    }
}
