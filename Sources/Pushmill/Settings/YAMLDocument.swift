import CPushmillYAML
import PushmillStages

/// A YAML file as a tree of settings. Supports lists, maps and scalars. Anchors, aliases, tags and further documents
/// are refused: a configuration has no use for them, and plain files have no surprises.
struct YAMLDocument {
    static let maximalDepth = 32
    static let maximalNodes = 20_000

    /// Nil if the text is not YAML, or is beyond the limits.
    private(set) var root: Setting?
    private(set) var problems: [SettingProblem] = []
    private var nodes = 0

    init(_ bytes: [UInt8], file: String) {
        let start = Place.file(file, line: 1, column: 1)
        guard var events = YAMLEvents(bytes, file: file) else {
            problems = [SettingProblem(place: start, path: "", message: "out of memory")]
            return
        }
        do throws(SettingProblem) {
            root = try readStream(&events) ?? Setting(place: start, value: .null)
        } catch {
            problems.append(error)
        }
    }

    private mutating func readStream(_ events: inout YAMLEvents) throws(SettingProblem) -> Setting? {
        var root: Setting?
        while true {
            switch try events.next() {
            case YAML_STREAM_START_EVENT, YAML_DOCUMENT_END_EVENT: continue
            case YAML_STREAM_END_EVENT: return root
            case YAML_DOCUMENT_START_EVENT where root == nil: continue
            case YAML_DOCUMENT_START_EVENT: throw problem(events.place, "a second document is not allowed")
            default: root = try read(&events, depth: 1)
            }
        }
    }

    /// Reads the value that begins with the latest event.
    private mutating func read(_ events: inout YAMLEvents, depth: Int) throws(SettingProblem) -> Setting {
        let (place, data) = (events.place, events.event.data)
        nodes += 1
        guard nodes <= Self.maximalNodes else { throw problem(place, "more than \(Self.maximalNodes) values") }
        guard depth <= Self.maximalDepth else { throw problem(place, "nested deeper than \(Self.maximalDepth) levels") }
        let value: Setting.Content
        switch events.event.type {
        case YAML_SEQUENCE_START_EVENT:
            refuse(data.sequence_start.anchor, data.sequence_start.tag, place)
            var items: [Setting] = []
            while try events.next() != YAML_SEQUENCE_END_EVENT { items.append(try read(&events, depth: depth + 1)) }
            value = .list(items)
        case YAML_MAPPING_START_EVENT:
            refuse(data.mapping_start.anchor, data.mapping_start.tag, place)
            value = .map(try readMap(&events, depth: depth))
        case YAML_SCALAR_EVENT:
            let scalar = data.scalar
            refuse(scalar.anchor, scalar.tag, place)
            let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
            if text.utf8.contains(0) { problems.append(problem(place, "a NUL character cannot be part of a value")) }
            value = scalar.style == YAML_PLAIN_SCALAR_STYLE && Self.nulls.contains(text) ? .null : .scalar(text)
        case YAML_ALIAS_EVENT:
            problems.append(problem(place, "aliases are not supported: quote a text that begins with *"))
            value = .null
        default: throw problem(place, "a value is missing")
        }
        return Setting(place: place, value: value)
    }

    /// Does not name them: an apparent anchor or tag may be a password without quotes.
    private mutating func refuse(
        _ anchor: UnsafePointer<yaml_char_t>?, _ tag: UnsafePointer<yaml_char_t>?, _ place: Place
    ) {
        if anchor != nil {
            problems.append(problem(place, "anchors are not supported: quote a text that begins with &"))
        }
        if tag != nil { problems.append(problem(place, "tags are not supported: quote a text that begins with !")) }
    }

    private mutating func readMap(_ events: inout YAMLEvents, depth: Int) throws(SettingProblem) -> [Setting.Member] {
        var members: [Setting.Member] = []
        var places: [String: Place] = [:]
        while try events.next() != YAML_MAPPING_END_EVENT {
            let key = try read(&events, depth: depth + 1)
            _ = try events.next()
            let value = try read(&events, depth: depth + 1)
            guard case .scalar(let name) = key.value else {
                problems.append(problem(key.place, "a key must be plain text"))
                continue
            }
            if let first = places.updateValue(key.place, forKey: name) {
                let shown = SettingProblem.shown(name)
                problems.append(problem(key.place, "\"\(shown)\" appears twice; the first one is at \(first)"))
            } else {
                members.append(Setting.Member(key: name, place: key.place, value: value))
            }
        }
        return members
    }

    /// The words for null in YAML's core schema.
    private static let nulls: Set<String> = ["", "~", "null", "Null", "NULL"]

    private func problem(_ place: Place, _ message: String) -> SettingProblem {
        SettingProblem(place: place, path: "", message: message)
    }
}
