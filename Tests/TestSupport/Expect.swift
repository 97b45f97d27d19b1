package import Testing

/// Reports what `#expect(value == expected)` reports, but compiles in a twentieth of its time: the tests compare some
/// 3,300 times, which took a sixth of a clean build.
package func expect<Value: Equatable>(
    _ value: Value, is expected: Value, _ comment: @autoclosure () -> Comment? = nil, fileID: String = #fileID,
    filePath: String = #filePath, line: Int = #line, column: Int = #column
) {
    guard value != expected else { return }
    var text = "is \(String(reflecting: value)), not \(String(reflecting: expected))"
    if let comment = comment() { text += ": \(comment.rawValue)" }
    Issue.record(
        Comment(rawValue: text),
        sourceLocation: SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column))
}
