internal import CPushmillRdKafka
internal import Glibc

/// Borrowed headers, valid as long as their owner is.
public struct HeaderView {
    let pointer: OpaquePointer
    public let count: Int

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
        count = rd_kafka_header_cnt(pointer)
    }

    /// The header at that index in wire order, nil beyond the end; a null value is nil. A name ends at its first NUL,
    /// because librdkafka does not report its length.
    public func entry(_ index: Int) -> (name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?)? {
        var name: UnsafePointer<CChar>?
        var value: UnsafeRawPointer?
        var size = 0
        guard
            rd_kafka_header_get_all(pointer, index, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR, let name
        else { return nil }
        return (
            UnsafeRawBufferPointer(start: name, count: strlen(name)),
            value.map { UnsafeRawBufferPointer(start: $0, count: size) }
        )
    }

    /// The value of the last header of that name, which counts among duplicates; nil for none or a null value.
    public func last(_ name: StaticString) -> UnsafeRawBufferPointer? {
        var value: UnsafeRawPointer?
        var size = 0
        let found = name.utf8Start.withMemoryRebound(to: CChar.self, capacity: name.utf8CodeUnitCount + 1) {
            rd_kafka_header_get_last(pointer, $0, &value, &size)
        }
        guard found == RD_KAFKA_RESP_ERR_NO_ERROR, let value else { return nil }
        return UnsafeRawBufferPointer(start: value, count: size)
    }
}

/// Headers that we own, for a record to be produced.
public struct Headers: ~Copyable {
    private var pointer: OpaquePointer?

    public init() { pointer = nil }

    init(taking pointer: OpaquePointer?) { self.pointer = pointer }

    public init(copying view: HeaderView) { pointer = rd_kafka_headers_copy(view.pointer) }

    deinit {
        if let pointer { rd_kafka_headers_destroy(pointer) }
    }

    public var view: HeaderView? { pointer.map(HeaderView.init) }

    public mutating func add(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) {
        guard let start = name.assumingMemoryBound(to: CChar.self).baseAddress else { return }
        if pointer == nil { pointer = rd_kafka_headers_new(8) }
        // A null pointer with size 0 means null; librdkafka copies name and value.
        _ = rd_kafka_header_add(pointer, start, name.count, value?.baseAddress, value?.count ?? 0)
    }

    public mutating func add(_ name: StaticString, _ value: UnsafeRawBufferPointer?) {
        add(UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), value)
    }

    public mutating func add(_ name: String, _ value: String) {
        var (name, value) = (name, value)
        name.withUTF8 { name in
            value.withUTF8 { value in add(UnsafeRawBufferPointer(name), UnsafeRawBufferPointer(value)) }
        }
    }

    /// Removes every header of that name. A zero byte must follow the name.
    public mutating func remove(zeroTerminated name: UnsafeRawBufferPointer) {
        guard let pointer, let start = name.baseAddress else { return }
        rd_kafka_header_remove(pointer, start.assumingMemoryBound(to: CChar.self))
    }

    /// Keeps the others in order in a new list: for each removed header, librdkafka would move all that follow.
    public mutating func removeAll(where isRemoved: (UnsafeRawBufferPointer) -> Bool) {
        guard let view else { return }
        var kept = Headers()
        for index in 0..<view.count {
            if let header = view.entry(index), !isRemoved(header.name) { kept.add(header.name, header.value) }
        }
        self = kept
    }

    /// Lends the list to a produce call, which takes ownership if it succeeds.
    mutating func hand(over produce: (OpaquePointer?) -> rd_kafka_resp_err_t) -> rd_kafka_resp_err_t {
        let code = produce(pointer)
        if code == RD_KAFKA_RESP_ERR_NO_ERROR { pointer = nil }
        return code
    }
}
