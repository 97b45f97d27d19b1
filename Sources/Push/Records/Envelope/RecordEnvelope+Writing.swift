extension RecordEnvelope {
    /// Appends the envelope and a line feed. What is no UTF-8 goes into a member with `_b64`.
    package func append(to line: inout [UInt8]) {
        line.append("{\"topic\":")
        Self.append(Array(topic.utf8), isEncoded: false, to: &line)
        line.append(",\"partition\":")
        line.append(decimal: partition)
        line.append(",\"offset\":")
        line.append(decimal: offset)
        line.append(",\"tstype\":")
        Self.append(Array(timestampType.utf8), isEncoded: false, to: &line)
        line.append(",\"ts\":")
        line.append(decimal: timestamp)
        appendHeaders(to: &line)
        Self.append(key, named: "key", to: &line)
        Self.append(payload, named: "payload", to: &line)
        line.append("}\n")
    }

    private func appendHeaders(to line: inout [UInt8]) {
        let isEncoded = !headers.allSatisfy { isUTF8($0.name) && isUTF8($0.value ?? []) }
        line.append(isEncoded ? ",\"headers_b64\":[" : ",\"headers\":[")
        for (index, header) in headers.enumerated() {
            if index > 0 { line.append(UInt8(ascii: ",")) }
            Self.append(header.name, isEncoded: isEncoded, to: &line)
            line.append(UInt8(ascii: ","))
            Self.append(header.value, isEncoded: isEncoded, to: &line)
        }
        line.append(UInt8(ascii: "]"))
    }

    private static func append(_ bytes: [UInt8]?, named name: StaticString, to line: inout [UInt8]) {
        let isEncoded = !isUTF8(bytes ?? [])
        line.append(",\"")
        line.append(name)
        line.append(isEncoded ? "_b64\":" : "\":")
        append(bytes, isEncoded: isEncoded, to: &line)
    }

    private static func append(_ bytes: [UInt8]?, isEncoded: Bool, to line: inout [UInt8]) {
        guard let bytes else { return line.append("null") }
        guard isEncoded else {
            return bytes.withUnsafeBufferPointer { JSONText.appendQuoted($0, to: &line) }
        }
        line.append(UInt8(ascii: "\""))
        bytes.withUnsafeBytes { Base64.encode($0, into: &line) }
        line.append(UInt8(ascii: "\""))
    }
}

func isUTF8(_ bytes: [UInt8]) -> Bool { (try? UTF8Span(validating: bytes.span)) != nil }
