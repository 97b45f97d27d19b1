package import PushmillStages

/// Replaces what people wrote, their names and their tokens by stand-ins of the same shape and length; the same word has
/// the same stand-in everywhere, so that records stay together. What only programs read stays: the names of members, and
/// within `aps` keys of texts, categories, sounds and the like.
package struct Redaction: Sendable {
    /// Headers whose values tell nothing of a person.
    private static let openHeaders: Set<String> = [
        "locale", "content-type", "apns-topic", "apns-push-type", "apns-priority", "apns-expiration",
        "pushmill-outcome", "pushmill-source", "pushmill-stages", "pushmill-attempt", "pushmill-counted",
        "ce_specversion", "ce_type", "ce_time", "ce_datacontenttype",
    ]
    /// Members of `aps` that tell nothing of a person, and those of its alert.
    private static let openMembers: Set<String> = [
        "badge", "category", "content-available", "dismissal-date", "event", "interruption-level", "mutable-content",
        "relevance-score", "sound", "stale-date", "timestamp",
    ]
    private static let openAlertMembers: Set<String> = [
        "title-loc-key", "subtitle-loc-key", "loc-key", "action-loc-key", "launch-image",
    ]

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

    /// Whether a payload stays JSON with the same members: of a member that comes twice only the last could be named.
    static func keepsShape(of document: JSONDocument) -> Bool {
        document.kind(of: document.root) == .object && !document.repeatsNames(in: document.root)
    }

    private func payload(_ bytes: [UInt8]) -> [UInt8] {
        guard var document = try? JSONDocument(bytes: bytes), Self.keepsShape(of: document) else {
            return StandIn.bytes(bytes)
        }
        var edits: [(JSONPointer, Edit)] = []
        collect(document.root, "", [], document, &edits)
        for (pointer, edit) in edits {
            switch edit {
            case .text(let text): document.set(text, at: pointer)
            case .number(let digits): document.set(json: digits.utf8Span.span, at: pointer)
            }
        }
        var redacted: [UInt8] = []
        document.render(into: &redacted)
        return redacted
    }

    private enum Edit {
        case text(String)
        case number(String)
    }

    /// As deep as the document, and so bounded.
    private func collect(
        _ node: JSONNode, _ path: String, _ names: [String], _ document: JSONDocument,
        _ edits: inout [(JSONPointer, Edit)]
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
            edits.append((pointer, .text(StandIn.text(text))))
        case .number:
            let digits = document.withSpelling(of: node) { spelling in
                spelling.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            }
            guard Self.isPersonal(names), let digits, let pointer = JSONPointer(path) else { return }
            edits.append((pointer, .number(StandIn.number(digits))))
        case .true, .false, .null: break
        }
    }

    private static func isPersonal(_ names: [String]) -> Bool {
        let names = names.first == "data" ? names.dropFirst() : names[...]
        guard names.first == "aps" else { return true }
        let rest = Array(names.dropFirst())
        guard rest.first == "alert" else { return rest.first.map { !openMembers.contains($0) } ?? true }
        return rest.count == 1 || !openAlertMembers.contains(rest[1])
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
