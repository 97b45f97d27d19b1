internal import CPushmillRdKafka
import Glibc

/// A property that this librdkafka documents.
public struct KnownProperty: Sendable {
    public let name: String
    public let isForConsumers: Bool
    public let isForProducers: Bool

    /// All of them. librdkafka tells them as a table of text, in no other way.
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
