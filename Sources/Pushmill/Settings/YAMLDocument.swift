import PushmillStages

/// A YAML file as a tree of settings. Of YAML it takes lists, maps and scalars; anchors, aliases, tags and further
/// documents are refused: a configuration has no use for them, and plain files have no surprises.
struct YAMLDocument {
    static let maximalDepth = 32
    static let maximalNodes = 20_000

    /// Nil where the text is not YAML, or beyond the limits.
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
            let event = try events.next()
            switch event.kind {
            case .streamStart, .documentEnd: continue
            case .streamEnd: return root
            case .documentStart where root == nil: continue
            case .documentStart: throw problem(event, "a second document; a configuration is one")
            default: root = try read(event, &events, depth: 1)
            }
        }
    }

    private mutating func read(
        _ event: YAMLEvent, _ events: inout YAMLEvents, depth: Int
    ) throws(SettingProblem) -> Setting {
        nodes += 1
        guard nodes <= Self.maximalNodes else { throw problem(event, "more than \(Self.maximalNodes) values") }
        guard depth <= Self.maximalDepth else { throw problem(event, "nested deeper than \(Self.maximalDepth)") }
        if let anchor = event.anchor { problems.append(problem(event, "anchors such as &\(anchor) are not supported")) }
        if let tag = event.tag { problems.append(problem(event, "tags such as \(tag) are not supported")) }
        let value: Setting.Content
        switch event.kind {
        case .listStart: value = .list(try readList(&events, depth: depth))
        case .mapStart: value = .map(try readMap(&events, depth: depth))
        case .scalar(let text, let isPlain):
            if text.utf8.contains(0) { problems.append(problem(event, "a NUL character cannot be part of a value")) }
            value = isPlain && Self.nulls.contains(text) ? .null : .scalar(text)
        case .alias(let name):
            problems.append(problem(event, "aliases such as *\(name) are not supported"))
            value = .null
        case .end, .documentStart, .documentEnd, .streamStart, .streamEnd:
            throw problem(event, "a value is missing")
        }
        return Setting(place: event.place, value: value)
    }

    private mutating func readList(_ events: inout YAMLEvents, depth: Int) throws(SettingProblem) -> [Setting] {
        var items: [Setting] = []
        while true {
            let event = try events.next()
            if case .end = event.kind { return items }
            items.append(try read(event, &events, depth: depth + 1))
        }
    }

    private mutating func readMap(_ events: inout YAMLEvents, depth: Int) throws(SettingProblem) -> [Setting.Member] {
        var members: [Setting.Member] = []
        var places: [String: Place] = [:]
        while true {
            let event = try events.next()
            if case .end = event.kind { return members }
            let key = try read(event, &events, depth: depth + 1)
            let value = try read(try events.next(), &events, depth: depth + 1)
            guard case .scalar(let name) = key.value else {
                problems.append(problem(event, "a key has to be a plain text"))
                continue
            }
            if let first = places.updateValue(key.place, forKey: name) {
                problems.append(problem(event, "\"\(name)\" is here twice; the first one is at \(first)"))
            } else {
                members.append(Setting.Member(key: name, place: key.place, value: value))
            }
        }
    }

    /// The words of YAML's core schema for nothing.
    private static let nulls: Set<String> = ["", "~", "null", "Null", "NULL"]

    private func problem(_ event: YAMLEvent, _ message: String) -> SettingProblem {
        SettingProblem(place: event.place, path: "", message: message)
    }
}
