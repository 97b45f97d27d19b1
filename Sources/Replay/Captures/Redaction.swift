package import Push

/// Replaces what people wrote, their names and their tokens by stand-ins of the same shape and length; the same word has
/// the same stand-in everywhere, so that records stay together. What only programs read stays: keys of texts, categories,
/// sounds, numbers within `aps`.
package struct Redaction: Sendable {
    /// Headers whose values tell nothing of a person.
    private static let openHeaders: Set<String> = [
        "locale", "content-type", "apns-topic", "apns-push-type", "apns-priority", "apns-expiration",
        "pushmill-outcome", "pushmill-source", "pushmill-stages", "pushmill-attempt", "pushmill-counted",
        "ce_specversion", "ce_type", "ce_time", "ce_datacontenttype",
    ]
    private static let texts: Set<String> = ["title", "subtitle", "body"]
    private static let arguments: Set<String> = ["title-loc-args", "subtitle-loc-args", "loc-args"]

    package init() {}

    package func redacted(_ record: RecordEnvelope) -> RecordEnvelope {
        var record = record
        record.key = record.key.map(StandIn.bytes)
        for index in record.headers.indices {
            let name = String(decoding: record.headers[index].name, as: UTF8.self)
            if Self.openHeaders.contains(name) || name.hasPrefix("pushmill.error.") { continue }
            record.headers[index].value = record.headers[index].value.map(StandIn.bytes)
        }
        record.payload = record.payload.map(payload)
        return record
    }

    private func payload(_ bytes: [UInt8]) -> [UInt8] {
        // Of a member that comes twice only the last could be named.
        guard var document = try? JSONDocument(bytes: bytes), !document.repeatsNames(in: document.root) else {
            return StandIn.bytes(bytes)
        }
        var edits: [(JSONPointer, String)] = []
        collect(document.root, "", [], document, &edits)
        for (pointer, text) in edits { document.set(text, at: pointer) }
        var redacted: [UInt8] = []
        document.render(into: &redacted)
        return redacted
    }

    /// As deep as the document, and so bounded.
    private func collect(
        _ node: JSONNode, _ path: String, _ names: [String], _ document: JSONDocument,
        _ edits: inout [(JSONPointer, String)]
    ) {
        switch document.kind(of: node) {
        case .object, .array:
            var position = 0
            document.forEachChild(of: node) { child in
                let name = document.withName(of: child) { name in
                    name.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
                }
                let step = JSONPointer(member: name ?? "\(position)").description
                collect(child, path + step, names + [name ?? "\(position)"], document, &edits)
                position += 1
            }
        case .string:
            guard Self.isPersonal(names), let text = document.string(of: node), let pointer = JSONPointer(path) else {
                return
            }
            edits.append((pointer, StandIn.text(text)))
        default: break
        }
    }

    private static func isPersonal(_ names: [String]) -> Bool {
        let names = names.first == "data" ? names.dropFirst() : names[...]
        guard names.first == "aps" else { return true }
        let rest = Array(names.dropFirst())
        switch rest.first {
        case "alert": return rest.count == 1 || texts.contains(rest[1]) || arguments.contains(rest[1])
        case "thread-id", "target-content-id": return true
        default: return false
        }
    }
}

extension JSONDocument {
    /// As deep as the document, and so bounded.
    fileprivate func repeatsNames(in node: JSONNode) -> Bool {
        guard kind(of: node) == .object || kind(of: node) == .array else { return false }
        var names: Set<[UInt8]> = []
        var repeats = false
        forEachChild(of: node) { child in
            let name = withName(of: child) { name in name.withUnsafeBufferPointer { Array($0) } }
            if let name, !names.insert(name).inserted { repeats = true }
            if !repeats { repeats = repeatsNames(in: child) }
        }
        return repeats
    }
}
