/// A record as one line of JSON, in the form that `kcat -J` prints.
package struct RecordEnvelope: Sendable, Equatable {
    package struct Header: Sendable, Equatable {
        package var name: [UInt8]
        package var value: [UInt8]?

        package init(name: [UInt8], value: [UInt8]?) {
            self.name = name
            self.value = value
        }
    }

    package var topic = ""
    package var partition: Int32 = 0
    package var offset: Int64 = 0
    /// Whose clock made the timestamp: `create`, `logappend` or `unknown`.
    package var timestampType = "create"
    /// Milliseconds since 1970.
    package var timestamp: Int64 = 0
    package var headers: [Header] = []
    package var key: [UInt8]?
    package var payload: [UInt8]?

    package init() {}

    /// What a delivery publishes, under the coordinates of its input.
    package init(output delivery: Delivery) {
        self.init(input: delivery.record)
        delivery.output.forEachRemovedHeader { name in headers.removeAll { $0.name.elementsEqual(name) } }
        delivery.output.forEachAddedHeader { name, value in
            headers.append(Header(name: Array(name), value: Array(value)))
        }
        payload = delivery.output.withValue { $0.map(Array.init) }
    }

    init(input record: InputRecord) {
        topic = record.source.topic.name
        partition = record.source.partition
        offset = record.source.offset
        timestamp = record.timestamp
        headers = record.headers.map { Header(name: Array($0.name), value: $0.value.map(Array.init)) }
        key = record.key.map(Array.init)
        payload = record.value.map(Array.init)
    }
}

/// Why a line is not an envelope.
package enum EnvelopeError: Error, Equatable {
    case notJSON(PayloadError)
    case notAnObject
    case withoutPayload
    case malformed(String)
    /// A newer release wrote it.
    case version(Int)
}

extension EnvelopeError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notJSON(let error): "\(error)"
        case .notAnObject: "not a record envelope: not a JSON object"
        case .withoutPayload: "not a record envelope: it has neither `payload` nor `payload_b64`"
        case .version(let version):
            "a record of version \(version), which a newer release wrote: this one reads up to \(RecordEnvelope.newest)"
        case .malformed(let member): "not a record envelope: cannot read its `\(member)`"
        }
    }
}
