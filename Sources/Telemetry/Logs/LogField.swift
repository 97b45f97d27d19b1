/// A named value of a log line. The names are in `LogFields.swift`.
public struct LogField: Sendable, Equatable {
    public enum Value: Sendable, Equatable {
        case text(String)
        case integer(Int64)
        case number(Double)
        case flag(Bool)
    }

    public let name: String
    public let value: Value

    public init(_ name: FieldName, _ value: Value) {
        self.name = name.text
        self.value = value
    }
}
