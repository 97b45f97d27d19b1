package import Testing

/// Says what `#expect(value == expected)` says, at a twentieth of what the compiler takes for that macro: tests compare some
/// 3,300 times, which were a sixth of their build from nothing.
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
