import PushmillTestSupport
import Testing

// `#expect` and `#require` cannot expand a call that mutates its receiver: these functions take its result.

func expectEqual<Value: Equatable>(
    _ actual: Value, _ expected: Value, sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(actual == expected, sourceLocation: sourceLocation)
}

/// For long random runs, which end at the first difference.
func requireEqual<Value: Equatable>(
    _ actual: Value, _ expected: Value, sourceLocation: SourceLocation = #_sourceLocation
) throws {
    try #require(actual == expected, sourceLocation: sourceLocation)
}

func requireValue<Value>(_ value: Value?, sourceLocation: SourceLocation = #_sourceLocation) throws -> Value {
    try #require(value, sourceLocation: sourceLocation)
}
