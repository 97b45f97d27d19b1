/// A named value of a log line. The names are in `LogFields.swift`.
public struct LogField: Sendable, Equatable {
    public enum Value: Sendable, Hashable {
        case text(String)
        case integer(Int64)
        case number(Double)
    }

    public let name: String
    public let value: Value

    public init(_ name: FieldName, _ value: Value) {
        self.name = name.text
        self.value = value
    }

    /// It names who speaks: a stage, or a part of a library.
    var isSpeaker: Bool { [FieldName.stage.text, FieldName.component.text].contains(name) }
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
