/// Objects of texts and numbers being written as JSON Lines.
package struct JSONLines {
    package private(set) var bytes: [UInt8] = []
    private var isFirst = true

    package init() {}

    package mutating func clear() { bytes.removeAll(keepingCapacity: true) }

    package mutating func begin() {
        bytes.append(UInt8(ascii: "{"))
        isFirst = true
    }

    package mutating func end() { bytes.append("}\n") }

    /// What is no UTF-8 goes, in base64, into a member whose name ends in `_b64`.
    package mutating func add(_ name: StaticString, _ text: RawSpan) {
        text.withUnsafeBytes { text in
            let isText = (try? UTF8Span(validating: text.bindMemory(to: UInt8.self).span)) != nil
            begin(name, isText ? "" : "_b64")
            if isText {
                JSONText.appendQuoted(text.bindMemory(to: UInt8.self), to: &bytes)
            } else {
                bytes.append(UInt8(ascii: "\""))
                Base64.encode(text, into: &bytes)
                bytes.append(UInt8(ascii: "\""))
            }
        }
    }

    package mutating func add(_ name: StaticString, _ number: Int32) {
        begin(name, "")
        bytes.append(decimal: number)
    }

    private mutating func begin(_ name: StaticString, _ ending: StaticString) {
        bytes.append(isFirst ? "\"" : ",\"")
        bytes.append(name)
        bytes.append(ending)
        bytes.append("\":")
        isFirst = false
    }
}
