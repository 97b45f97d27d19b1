/// The names of log fields and metric labels. None may carry payload text, key material, names of people or tokens.
public enum FieldName: String, Sendable {
    case attempt, broker, component, count, error, listen, offset, partition, partitions, path, reason, seconds, setting
    case heldBack = "held_back"
    case shard, source, stage, topic, total
    // Labels of metrics only.
    case client, event, level, outcome, result, target, version
}

extension LogField {
    public static func attempt(_ value: Int) -> Self { Self(.attempt, .integer(Int64(value))) }
    public static func broker(_ value: String) -> Self { Self(.broker, .text(value)) }
    /// The part of a library that reports, such as librdkafka's facility.
    public static func component(_ value: String) -> Self { Self(.component, .text(value)) }
    public static func count(_ value: Int) -> Self { Self(.count, .integer(Int64(value))) }
    /// An error's own description. It must not quote content.
    public static func error(_ value: some Error) -> Self { Self(.error, .text("\(value)")) }
    public static func error(text value: String) -> Self { Self(.error, .text(value)) }
    public static func heldBack(_ value: Int) -> Self { Self(.heldBack, .integer(Int64(value))) }
    public static func listen(_ value: String) -> Self { Self(.listen, .text(value)) }
    public static func offset(_ value: Int64) -> Self { Self(.offset, .integer(value)) }
    public static func partition(_ value: Int32) -> Self { Self(.partition, .integer(Int64(value))) }
    /// Several partitions in one line: `0-3,7`.
    public static func partitions(_ value: String) -> Self { Self(.partitions, .text(value)) }
    public static func path(_ value: String) -> Self { Self(.path, .text(value)) }
    public static func reason(_ value: String) -> Self { Self(.reason, .text(value)) }
    public static func seconds(_ value: Double) -> Self { Self(.seconds, .number(value)) }
    public static func setting(_ value: String) -> Self { Self(.setting, .text(value)) }
    /// The input record: `topic/partition/offset`.
    public static func source(_ value: String) -> Self { Self(.source, .text(value)) }
    public static func shard(_ value: Int) -> Self { Self(.shard, .integer(Int64(value))) }
    public static func stage(_ value: String) -> Self { Self(.stage, .text(value)) }
    public static func topic(_ value: String) -> Self { Self(.topic, .text(value)) }
    /// The value that a count runs up to.
    public static func total(_ value: Int) -> Self { Self(.total, .integer(Int64(value))) }
}

public struct LogField: Sendable, Equatable {
    public enum Value: Sendable, Hashable {
        case text(String)
        case integer(Int64)
        case number(Double)
    }

    public let name: String
    public let value: Value

    public init(_ name: FieldName, _ value: Value) {
        self.name = name.rawValue
        self.value = value
    }

    /// True for the source of the message: a stage, or a part of a library.
    var isSpeaker: Bool { [FieldName.stage.rawValue, FieldName.component.rawValue].contains(name) }
}

extension [UInt8] {
    mutating func append(json value: LogField.Value) {
        switch value {
        case .text(let text): append(quoted: text, limit: 1_024)
        case .integer(let integer): self += "\(integer)".utf8
        case .number(let number): self += (number.isFinite ? "\(number)" : "null").utf8
        }
    }
}
