import Glibc

/// One line as stored in the ring.
package struct LogLine: Sendable {
    package let time: Int64
    package let level: LogLevel
    package let message: StaticString
    package let fields: [LogField]
    /// The line as a JSON object, with its line feed.
    package let json: [UInt8]

    /// Bytes of the longest line, line feed included: what the kernel writes to a pipe in one piece (`PIPE_BUF`).
    static let maximumLength = 4_096

    init(time: Int64, level: LogLevel, message: StaticString, fields: [LogField]) {
        self.time = time
        self.level = level
        self.message = message
        self.fields = fields
        json = Self.json(time: time, level: level, message: message, fields: fields)
    }

    /// Tells a reader of the ring that it missed lines. `time` is that of the line it reads next.
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

extension [UInt8] {
    /// A JSON string of at most about `limit` bytes of the text; a cut shows as "…".
    mutating func append(quoted text: String, limit: Int = .max) {
        append(UInt8(ascii: "\""))
        append(escaping: text, limit: limit)
        append(UInt8(ascii: "\""))
    }

    /// Escapes, as JSON does, all that could end a line or a string, control a terminal or reverse the text direction.
    mutating func append(escaping text: String, limit: Int = .max) {
        let start = count
        for scalar in text.unicodeScalars {
            guard count - start < limit else {
                self += "…".utf8
                return
            }
            switch scalar {
            case "\"": self += #"\""#.utf8
            case "\\": self += #"\\"#.utf8
            case "\n": self += #"\n"#.utf8
            case "\r": self += #"\r"#.utf8
            case "\t": self += #"\t"#.utf8
            case "\0"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}"..."\u{202E}", "\u{2066}"..."\u{2069}":
                self += "\\u\(scalar.value.digits(4, radix: 16))".utf8
            default: self += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            }
        }
    }
}

extension [UInt8] {
    /// Appends nanoseconds since 1970 as RFC 3339 in UTC with milliseconds: `2026-01-31T09:08:07.006Z`.
    mutating func append(timestamp nanoseconds: Int64) {
        let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        var seconds = Int(remainder < 0 ? quotient - 1 : quotient)
        let rest = remainder < 0 ? remainder + 1_000_000_000 : remainder
        var date = tm()
        gmtime_r(&seconds, &date)
        var text = [CChar](repeating: 0, count: 32)
        let length = strftime(&text, text.count, "%Y-%m-%dT%H:%M:%S", &date)
        self += text[..<length].lazy.map { UInt8(truncatingIfNeeded: $0) }
        self += ".\((rest / 1_000_000).digits(3))Z".utf8
    }
}

extension FixedWidthInteger {
    /// Zero-padded to at least `count` digits.
    func digits(_ count: Int, radix: Int = 10) -> String {
        let digits = String(self, radix: radix)
        return String(repeating: "0", count: Swift.max(0, count - digits.utf8.count)) + digits
    }
}

/// The time source of log lines and of the metrics page: nanoseconds since 1970.
public struct WallClock: Sendable {
    public let now: @Sendable () -> Int64

    public init(now: @escaping @Sendable () -> Int64) { self.now = now }

    public static let system = WallClock { nanoseconds(of: CLOCK_REALTIME) }
}

func nanoseconds(of clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
}
