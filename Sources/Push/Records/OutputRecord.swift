/// What leaves for a message beside its key and timestamp: a value, and what changes in the input's headers. Good until
/// the delivery's next message.
public struct OutputRecord {
    private enum Value {
        case none
        case input(UnsafeRawBufferPointer)
        case rendered
    }

    private enum Name {
        case fixed(StaticString)
        /// In `text`, with a zero byte behind.
        case written(Range<Int>)
    }

    private var value = Value.none
    private var rendered: [UInt8] = []
    private struct Added {
        let name: Name
        let value: Range<Int>
    }

    private var removed: [Name] = []
    private var added: [Added] = []
    /// The values of added headers, and such names as are no constants.
    private var text: [UInt8] = []

    // MARK: - What leaves

    /// The value; nil is a null value.
    public func withValue<R>(_ body: (UnsafeRawBufferPointer?) -> R) -> R {
        switch value {
        case .none: body(nil)
        case .input(let bytes): body(bytes)
        case .rendered: rendered.withUnsafeBytes { body($0) }
        }
    }

    /// Every input header of this name goes; a zero byte follows the name. May give a name that the input does not have.
    public func forEachRemovedHeader(_ body: (UnsafeRawBufferPointer) -> Void) {
        guard !removed.isEmpty else { return }
        text.withUnsafeBytes { text in
            for name in removed { body(Self.bytes(of: name, text)) }
        }
    }

    /// These follow the input headers that stay; a zero byte follows each name.
    public func forEachAddedHeader(
        _ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void
    ) {
        text.withUnsafeBytes { text in
            for header in added {
                body(Self.bytes(of: header.name, text), UnsafeRawBufferPointer(rebasing: text[header.value]))
            }
        }
    }

    // MARK: - Filling

    mutating func clear() {
        value = .none
        text.removeAll(keepingCapacity: true)
        if !removed.isEmpty { removed.removeAll(keepingCapacity: true) }
        added.removeAll(keepingCapacity: true)
    }

    mutating func setValue(_ input: UnsafeRawBufferPointer?) { value = input.map(Value.input) ?? .none }

    /// Renders anew into the buffer that is kept for it; gives the number of bytes.
    mutating func render(_ content: NotificationContent) -> Int {
        rendered.removeAll(keepingCapacity: true)
        content.render(into: &rendered)
        value = .rendered
        return rendered.count
    }

    mutating func remove(_ name: StaticString) { removed.append(.fixed(name)) }

    /// Adds a header whose value `write` appends.
    mutating func add(_ name: StaticString, _ write: (inout [UInt8]) -> Void) { add(.fixed(name), write) }

    mutating func replace(_ name: UnsafeRawBufferPointer, _ write: (inout [UInt8]) -> Void) {
        let start = text.count
        text.append(contentsOf: name)
        text.append(0)
        let name = Name.written(start..<text.count - 1)
        removed.append(name)
        add(name, write)
    }

    private mutating func add(_ name: Name, _ write: (inout [UInt8]) -> Void) {
        let start = text.count
        write(&text)
        added.append(Added(name: name, value: start..<text.count))
    }

    private static func bytes(of name: Name, _ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        switch name {
        case .fixed(let name): name.bytes
        case .written(let range): UnsafeRawBufferPointer(rebasing: text[range])
        }
    }
}

extension StaticString {
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount) }
}
