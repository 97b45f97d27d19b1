import PushmillKafka
package import PushmillStages

extension RecordEnvelope {
    /// A copy of a record as the brokers have it.
    init(_ record: Record, topic name: String) {
        self.init()
        topic = name
        partition = record.partition
        offset = record.offset
        timestamp = record.timestamp
        timestampType =
            switch record.timestampKind {
            case .none: "unknown"
            case .create: "create"
            case .logAppend: "logappend"
            }
        key = record.key.map { Array($0) }
        payload = record.value.map { Array($0) }
        guard let view = record.headers else { return }
        for index in 0..<view.count {
            guard let (name, value) = view.entry(index) else { continue }
            headers.append(Header(name: Array(name), value: value.map { Array($0) }))
        }
    }

    /// The value of the last header of this name.
    package func header(_ name: StaticString) -> [UInt8]? { headers.last { $0.isNamed(name) }?.value }

    /// Of a header that is there.
    mutating func setHeader(_ name: StaticString, to value: StaticString) {
        guard let index = headers.lastIndex(where: { $0.isNamed(name) }) else { return }
        headers[index].value = Array("\(value)".utf8)
    }

    package func text(_ name: StaticString) -> String? { header(name).map { String(decoding: $0, as: UTF8.self) } }

    /// The `recipient` header, else the key.
    var recipient: [UInt8]? { header("recipient") ?? key }

    /// As the header `pushmill-source` has it.
    package var place: String { "\(topic)/\(partition)/\(offset)" }
}

extension RecordEnvelope.Header {
    package func isNamed(_ text: StaticString) -> Bool {
        name.count == text.utf8CodeUnitCount
            && name.elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
