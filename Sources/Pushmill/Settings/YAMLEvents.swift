import CPushmillYAML
import PushmillStages

/// The events of a YAML document, one by one. Owns libyaml's parser and the bytes that it reads.
struct YAMLEvents: ~Copyable {
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let bytes: UnsafeMutableBufferPointer<UInt8>
    private let file: String

    init?(_ source: [UInt8], file: String) {
        self.file = file
        bytes = .allocate(capacity: source.count)
        _ = bytes.initialize(from: source)
        parser = .allocate(capacity: 1)
        guard yaml_parser_initialize(parser) == 1 else {
            parser.deallocate()
            bytes.deallocate()
            return nil
        }
        // Without this, the first bytes decide, and a file that is no text at all may pass for UTF-16.
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
        bytes.deallocate()
    }

    mutating func next() throws(SettingProblem) -> YAMLEvent {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw problem }
        defer { yaml_event_delete(&event) }
        let (kind, anchor, tag) = Self.content(of: event)
        return YAMLEvent(kind: kind, anchor: anchor, tag: tag, place: place(event.start_mark))
    }

    private static func content(of event: yaml_event_t) -> (YAMLEvent.Kind, anchor: String?, tag: String?) {
        switch event.type {
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            let bytes = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            let value = String(decoding: bytes, as: UTF8.self)
            let isPlain = scalar.style == YAML_PLAIN_SCALAR_STYLE
            return (.scalar(value, isPlain: isPlain), text(scalar.anchor), text(scalar.tag))
        case YAML_SEQUENCE_START_EVENT:
            return (.listStart, text(event.data.sequence_start.anchor), text(event.data.sequence_start.tag))
        case YAML_MAPPING_START_EVENT:
            return (.mapStart, text(event.data.mapping_start.anchor), text(event.data.mapping_start.tag))
        case YAML_ALIAS_EVENT:
            return (.alias(text(event.data.alias.anchor) ?? ""), nil, nil)
        case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: return (.end, nil, nil)
        case YAML_DOCUMENT_START_EVENT: return (.documentStart, nil, nil)
        case YAML_DOCUMENT_END_EVENT: return (.documentEnd, nil, nil)
        case YAML_STREAM_START_EVENT: return (.streamStart, nil, nil)
        default: return (.streamEnd, nil, nil)
        }
    }

    private static func text(_ string: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        string.map { String(cString: $0) }
    }

    private func place(_ mark: yaml_mark_t) -> Place {
        .file(file, line: Int(clamping: mark.line) + 1, column: Int(clamping: mark.column) + 1)
    }

    /// What libyaml has to complain about.
    private var problem: SettingProblem {
        let failed = parser.pointee
        var message = failed.problem.map { String(cString: $0) } ?? "out of memory"
        if let context = failed.context {
            message += " \(String(cString: context))"
            if failed.context_mark.line != failed.problem_mark.line {
                message += " that starts in line \(failed.context_mark.line + 1)"
            }
        }
        let place =
            failed.error == YAML_READER_ERROR ? place(ofByte: failed.problem_offset) : place(failed.problem_mark)
        return SettingProblem(place: place, path: "", message: message)
    }

    /// The reader complains before lines are counted, and knows only an offset.
    private func place(ofByte offset: Int) -> Place {
        let before = bytes.prefix(max(0, offset))
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        let column = before[lineStart...].count { $0 & 0xC0 != 0x80 } + 1
        return .file(file, line: before.count { $0 == UInt8(ascii: "\n") } + 1, column: column)
    }
}

/// One step through a YAML document, with the spot where it starts.
struct YAMLEvent {
    enum Kind {
        case scalar(String, isPlain: Bool)
        case listStart
        case mapStart
        /// Of the innermost list or map.
        case end
        case alias(String)
        case documentStart
        case documentEnd
        case streamStart
        case streamEnd
    }

    let kind: Kind
    let anchor: String?
    let tag: String?
    let place: Place
}
