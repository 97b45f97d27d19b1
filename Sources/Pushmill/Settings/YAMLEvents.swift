import CPushmillYAML
import PushmillStages

/// The events of a YAML document, one by one. Owns libyaml's parser, its event, and the bytes that it reads.
struct YAMLEvents: ~Copyable {
    /// The latest event.
    private(set) var event = yaml_event_t()
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let bytes: UnsafeMutableBufferPointer<UInt8>
    private let file: String

    /// The byte order mark that editors of other systems put at the start of a UTF-8 file.
    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    init?(_ source: [UInt8], file: String) {
        self.file = file
        // If libyaml is told the encoding, it counts a byte order mark as a column by which the first line is indented.
        let text = source.starts(with: Self.mark) ? source.dropFirst(Self.mark.count) : source[...]
        bytes = .allocate(capacity: text.count)
        _ = bytes.initialize(from: text)
        parser = .allocate(capacity: 1)
        guard yaml_parser_initialize(parser) == 1 else {
            parser.deallocate()
            bytes.deallocate()
            return nil
        }
        // Without this, the first bytes decide, and a file that is not text at all may pass for UTF-16.
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
    }

    deinit {
        var event = event
        yaml_event_delete(&event)
        yaml_parser_delete(parser)
        parser.deallocate()
        bytes.deallocate()
    }

    mutating func next() throws(SettingProblem) -> yaml_event_type_t {
        yaml_event_delete(&event)
        guard yaml_parser_parse(parser, &event) == 1 else { throw problem }
        return event.type
    }

    /// Where the event starts.
    var place: Place { place(event.start_mark) }

    private func place(_ mark: yaml_mark_t) -> Place {
        .file(file, line: Int(clamping: mark.line) + 1, column: Int(clamping: mark.column) + 1)
    }

    /// The problem that libyaml reports.
    private var problem: SettingProblem {
        let failed = parser.pointee
        var message = failed.problem.map { String(cString: $0) } ?? "out of memory"
        if let context = failed.context {
            message += " \(String(cString: context))"
            if failed.context_mark.line != failed.problem_mark.line {
                message += " that starts on line \(failed.context_mark.line + 1)"
            }
        }
        if failed.error == YAML_SCANNER_ERROR, isIndentedByTab(failed.problem_mark) {
            message = "a tab cannot indent a line in YAML: use spaces"
        }
        let place =
            failed.error == YAML_READER_ERROR ? place(ofByte: failed.problem_offset) : place(failed.problem_mark)
        return SettingProblem(place: place, path: "", message: message)
    }

    private func isIndentedByTab(_ mark: yaml_mark_t) -> Bool {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard mark.line < lines.count else { return false }
        let indent = lines[mark.line].prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        return mark.column < indent.count && indent.dropFirst(mark.column).first == UInt8(ascii: "\t")
    }

    /// libyaml's reader fails before lines are counted, and knows only an offset.
    private func place(ofByte offset: Int) -> Place {
        let before = bytes.prefix(max(0, offset))
        let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        let column = before[lineStart...].count { $0 & 0xC0 != 0x80 } + 1
        return .file(file, line: before.count { $0 == UInt8(ascii: "\n") } + 1, column: column)
    }
}
