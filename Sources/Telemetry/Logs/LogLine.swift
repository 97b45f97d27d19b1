/// One line, as the ring keeps it.
package struct LogLine: Sendable {
    package let time: Int64
    package let level: LogLevel
    package let message: StaticString
    package let fields: [LogField]
    /// The line as a JSON object, with its line feed.
    package let json: [UInt8]

    /// The longest line, line feed included: what the kernel writes to a pipe in one piece (`PIPE_BUF`).
    static let maximumLength = 4_096

    init(time: Int64, level: LogLevel, message: StaticString, fields: [LogField]) {
        self.time = time
        self.level = level
        self.message = message
        self.fields = fields
        json = Self.json(time: time, level: level, message: message, fields: fields)
    }

    /// What a reader of the ring is told that has missed lines, at the time of the line that it reads next.
    static func loss(of count: Int, time: Int64) -> LogLine {
        LogLine(time: time, level: .warning, message: "Log lines were lost", fields: [.count(count)])
    }

    private static func json(time: Int64, level: LogLevel, message: StaticString, fields: [LogField]) -> [UInt8] {
        var line: [UInt8] = Array(#"{"time":""#.utf8)
        line.reserveCapacity(256)
        line.append(timestamp: time)
        line += #"","level":"\#(level.name)","message":"#.utf8
        line.append(quoted: "\(message)", limit: maximumLength / 2)
        let end = #","truncated":true}"#
        for field in fields {
            let before = line.count
            line += #","\#(field.name)":"#.utf8
            line.append(json: field.value)
            guard line.count + end.utf8.count < maximumLength else {
                line.removeSubrange(before...)
                line += end.utf8
                line.append(UInt8(ascii: "\n"))
                return line
            }
        }
        line += "}\n".utf8
        return line
    }

    /// The line for a terminal: `2026-01-31T09:08:07.006Z WARNING message name=value`.
    var text: [UInt8] {
        var line: [UInt8] = []
        line.append(timestamp: time)
        let level = level.name.uppercased()
        line += " \(level)\(String(repeating: " ", count: 8 - level.utf8.count))".utf8
        line.append(escaping: "\(message)", limit: Self.maximumLength / 2)
        for field in fields {
            let before = line.count
            line += " \(field.name)=".utf8
            if case .text(let text) = field.value, text.isBare {
                line += text.utf8
            } else {
                line.append(json: field.value)
            }
            guard line.count + 4 < Self.maximumLength else {
                line.removeSubrange(before...)
                line += " …".utf8
                break
            }
        }
        line.append(UInt8(ascii: "\n"))
        return line
    }
}

extension String {
    /// True if the text reads well without quotes.
    fileprivate var isBare: Bool {
        !isEmpty && utf8.count <= 1_024
            && utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "=") }
    }
}
