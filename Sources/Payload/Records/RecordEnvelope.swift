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
    /// The clock that made the timestamp: `create`, `logappend` or `unknown`.
    package var timestampType = "create"
    /// Milliseconds since 1970.
    package var timestamp: Int64 = 0
    package var headers: [Header] = []
    package var key: [UInt8]?
    package var payload: [UInt8]?

    package init() {}

    package init(input record: InputRecord) {
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
package struct EnvelopeError: Error, Equatable, CustomStringConvertible {
    package let description: String

    static func notAnEnvelope(_ why: String) -> Self { Self(description: "not a record envelope: \(why)") }
    static func malformed(_ member: StaticString) -> Self { notAnEnvelope("cannot read its `\(member)`") }
}

extension RecordEnvelope {
    /// The newest version of a line that can be read. Version 1, which `kcat` prints and this writes, has no `version`.
    /// Version 2 may have further members, which are ignored.
    static let newest = 2

    /// Reads a line. Missing members have their defaults, but there must be a payload, which may be null.
    package init(line: [UInt8]) throws(EnvelopeError) {
        var reader = EnvelopeReader()
        do throws(PayloadError) {
            try reader.read(line)
        } catch {
            throw EnvelopeError(description: "\(error)")
        }
        guard reader.isObject else { throw .notAnEnvelope("not a JSON object") }
        let version: Int = try reader.integer("version") ?? 1
        guard version > 0 else { throw .malformed("version") }
        guard version <= Self.newest else {
            let which = "a record of version \(version), written by a newer release"
            throw EnvelopeError(description: "\(which): this one reads up to \(Self.newest)")
        }
        if let text = try reader.bytes("topic", "topic_b64") { topic = String(decoding: text, as: UTF8.self) }
        if let text = try reader.bytes("tstype", "tstype_b64") { timestampType = String(decoding: text, as: UTF8.self) }
        partition = try reader.integer("partition") ?? partition
        offset = try reader.integer("offset") ?? offset
        timestamp = try reader.integer("ts") ?? timestamp
        key = try reader.bytes("key", "key_b64")
        headers = try reader.headers()
        guard reader.has("payload") || reader.member("payload_b64") != nil else {
            throw .notAnEnvelope("it has neither `payload` nor `payload_b64`")
        }
        payload = try reader.bytes("payload", "payload_b64")
    }
}

/// The members of an envelope; a name with `_b64` takes precedence over the one without.
private struct EnvelopeReader {
    private var document = JSONDocument()
    /// The line has bytes that are not UTF-8, as `kcat` leaves them, and is read as Latin-1.
    private var isLatin = false

    mutating func read(_ line: [UInt8]) throws(PayloadError) {
        isLatin = !isUTF8(line)
        var text = line
        if isLatin {
            text = line.flatMap { Array(UTF8.encode(Unicode.Scalar($0)) ?? UTF8.encodedReplacementCharacter) }
        }
        try text.span.withUnsafeBytes { (bytes) throws(PayloadError) in try document.read(bytes) }
    }

    var isObject: Bool { document.kind(of: document.root) == .object }

    func has(_ name: StaticString) -> Bool { document.member(name, of: document.root) != nil }

    /// The bytes of a member; nil if it is missing or null.
    func bytes(_ name: StaticString, _ encodedName: StaticString) throws(EnvelopeError) -> [UInt8]? {
        let encoded = member(encodedName)
        guard let node = encoded ?? member(name) else { return nil }
        guard let bytes = bytes(of: node, isEncoded: encoded != nil) else { throw .malformed(name) }
        return bytes
    }

    func integer<Number: FixedWidthInteger>(_ name: StaticString) throws(EnvelopeError) -> Number? {
        guard let node = member(name) else { return nil }
        guard let number = document.integer(of: node).flatMap(Number.init(exactly:)) else {
            throw .malformed(name)
        }
        return number
    }

    /// A flat array: a name, its value or null, the next name.
    func headers() throws(EnvelopeError) -> [RecordEnvelope.Header] {
        let encoded = member("headers_b64")
        let isEncoded = encoded != nil
        guard let node = encoded ?? member("headers") else { return [] }
        let items = document.children(of: node)
        guard document.kind(of: node) == .array, items.count.isMultiple(of: 2) else { throw .malformed("headers") }
        var headers: [RecordEnvelope.Header] = []
        for index in stride(from: 0, to: items.count, by: 2) {
            let name = bytes(of: items[index], isEncoded: isEncoded)
            let value = bytes(of: items[index + 1], isEncoded: isEncoded)
            guard let name, value != nil || document.kind(of: items[index + 1]) == .null else {
                throw .malformed("headers")
            }
            headers.append(RecordEnvelope.Header(name: name, value: value))
        }
        return headers
    }

    /// Nil also if the member is null.
    func member(_ name: StaticString) -> JSONNode? {
        document.member(name, of: document.root).flatMap { document.kind(of: $0) == .null ? nil : $0 }
    }

    private func bytes(of node: JSONNode, isEncoded: Bool) -> [UInt8]? {
        let bytes = document.bytes(of: node, isEncoded: isEncoded)
        return isLatin && !isEncoded ? bytes.flatMap(latin) : bytes
    }

    private func latin(_ bytes: [UInt8]) -> [UInt8]? {
        var latin: [UInt8] = []
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            guard let byte = UInt8(exactly: scalar.value) else { return nil }
            latin.append(byte)
        }
        return latin
    }
}

extension JSONDocument {
    /// The bytes of a string, decoded from base64 if `isEncoded`; nil if that fails or the value is not a string.
    package func bytes(of node: JSONNode, isEncoded: Bool) -> [UInt8]? {
        var bytes: [UInt8] = []
        let isSound = withText(of: node) { text in
            if isEncoded { return Base64.decode(text, into: &bytes) }
            text.withUnsafeBytes { bytes.append(contentsOf: $0) }
            return true
        }
        return isSound == true ? bytes : nil
    }
}

extension RecordEnvelope {
    /// Appends the envelope and a line feed. Text that is not UTF-8 goes into a member with `_b64`.
    package func append(to line: inout [UInt8]) {
        line.append("{")
        line.append(topic, as: "topic")
        line.append(partition, as: "partition")
        line.append(offset, as: "offset")
        line.append(timestampType, as: "tstype")
        line.append(timestamp, as: "ts")
        appendHeaders(to: &line)
        key.withBytes { line.append($0, as: "key") }
        payload.withBytes { line.append($0, as: "payload") }
        line.append("}\n")
    }

    private func appendHeaders(to line: inout [UInt8]) {
        let isEncoded = !headers.allSatisfy { isUTF8($0.name) && isUTF8($0.value ?? []) }
        line.begin("headers", isEncoded ? "_b64" : "")
        line.append("[")
        for (index, header) in headers.enumerated() {
            if index > 0 { line.append(",") }
            header.name.withUnsafeBytes { line.append(quoted: $0, isEncoded: isEncoded) }
            line.append(",")
            header.value.withBytes { value in
                if let value { line.append(quoted: value, isEncoded: isEncoded) } else { line.append("null") }
            }
        }
        line.append("]")
    }
}

extension [UInt8]? {
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
        guard let self else { return body(nil) }
        return self.withUnsafeBytes { body($0) }
    }
}

private func isUTF8(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes(UTF8Scalar.isText) }
