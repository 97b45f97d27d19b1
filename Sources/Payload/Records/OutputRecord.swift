/// What is published for a message besides its key and timestamp: a value, and changes to the input's headers. Valid
/// until the delivery's next message. Not copyable, so reading a delivery's record retains none of its arrays.
public struct OutputRecord: ~Copyable {
    private enum Value {
        case none
        case input(UnsafeRawBufferPointer)
        case rendered
    }

    @usableFromInline
    enum Text {
        case fixed(StaticString)
        /// In `text`; a zero byte follows a name.
        case written(Range<Int>)
    }

    private var value = Value.none
    private var rendered = Region<UInt8>(capacity: 0)
    @usableFromInline var removed: [Text] = []
    @usableFromInline var added: [(name: Text, value: Text)] = []
    /// The values of added headers, and names that are not constants.
    @usableFromInline var text: [UInt8] = []

    package init() {}

    // MARK: - What leaves

    /// Passes on the value; nil is a null value.
    public func withValue<R>(_ body: (UnsafeRawBufferPointer?) -> R) -> R { body(bytes) }

    /// The value, valid until it is changed; nil is a null value.
    package var bytes: UnsafeRawBufferPointer? {
        switch value {
        case .none: nil
        case .input(let bytes): bytes
        case .rendered: UnsafeRawBufferPointer(start: rendered.base, count: rendered.count)
        }
    }

    /// Every input header of such a name is removed; a zero byte follows the name. The input may lack the header.
    public func forEachRemovedHeader(_ body: (UnsafeRawBufferPointer) -> Void) {
        guard !removed.isEmpty else { return }
        text.withUnsafeBytes { text in
            for name in removed { body(Self.bytes(of: name, text)) }
        }
    }

    /// The headers that follow the kept input headers; a zero byte follows each name.
    public func forEachAddedHeader(
        _ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void
    ) {
        text.withUnsafeBytes { text in
            for header in added {
                body(Self.bytes(of: header.name, text), Self.bytes(of: header.value, text))
            }
        }
    }

    // MARK: - Filling

    /// How many bytes of memory one message leaves to the next.
    package static let keptCapacity = 1 << 16

    /// True if a value or headers were so large that the memory is not kept.
    package var isLarge: Bool { rendered.capacity > Self.keptCapacity || text.capacity > Self.keptCapacity }

    package mutating func clear() {
        value = .none
        if isLarge {
            rendered.clear(keeping: Self.keptCapacity)
            text = []
        }
        text.removeAll(keepingCapacity: true)
        if !removed.isEmpty { removed.removeAll(keepingCapacity: true) }
        added.removeAll(keepingCapacity: true)
    }

    package mutating func setValue(_ input: UnsafeRawBufferPointer?) { value = input.map(Value.input) ?? .none }

    /// Renders into the kept buffer; returns the number of bytes.
    package mutating func render(_ content: NotificationContent) -> Int {
        rendered.cut(to: 0)
        content.document.render(into: &rendered)
        value = .rendered
        return rendered.count
    }

    package mutating func remove(_ name: StaticString) { removed.append(.fixed(name)) }

    /// Adds a header whose value `write` appends.
    @inlinable
    package mutating func add(_ name: StaticString, _ write: (inout [UInt8]) -> Void) { add(.fixed(name), write) }

    @inlinable
    package mutating func replace(_ name: UnsafeRawBufferPointer, _ write: (inout [UInt8]) -> Void) {
        let start = text.count
        text.append(contentsOf: name)
        text.append(0)
        let name = Text.written(start..<text.count - 1)
        removed.append(name)
        add(name, write)
    }

    @inlinable
    mutating func add(_ name: Text, _ write: (inout [UInt8]) -> Void) {
        let start = text.count
        write(&text)
        added.append((name: name, value: .written(start..<text.count)))
    }

    /// Adds a header with a constant value.
    package mutating func add(_ name: StaticString, value: StaticString) {
        added.append((name: .fixed(name), value: .fixed(value)))
    }

    private static func bytes(of name: Text, _ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        switch name {
        case .fixed(let name): name.bytes
        case .written(let range): UnsafeRawBufferPointer(rebasing: text[range])
        }
    }
}

extension StaticString {
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount) }
}
