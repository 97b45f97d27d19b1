import PushmillPayload
import PushmillStages

/// Writes settings as YAML that reads back as the same settings.
enum YAMLText {
    static func render(_ setting: Setting) -> String {
        guard case .map(let members) = setting.value else { return inline(setting) + "\n" }
        var text = ""
        for member in members {
            if !text.isEmpty { text += "\n" }
            write(member, indent: "", to: &text)
        }
        return text
    }

    private static func write(_ member: Setting.Member, indent: String, to text: inout String) {
        text += indent + scalar(member.key) + ":"
        switch member.value.value {
        case .null:
            text += "\n"
        case .map(let members) where !members.isEmpty:
            text += "\n"
            for member in members { write(member, indent: indent + "  ", to: &text) }
        case .list(let items) where items.contains(where: { if case .scalar = $0.value { false } else { true } }):
            text += "\n"
            for item in items { write(item, indent: indent + "  ", to: &text) }
        default:
            text += " \(inline(member.value))\n"
        }
    }

    /// An item of a list: a map starts on the line of its dash.
    private static func write(_ item: Setting, indent: String, to text: inout String) {
        var lines = ""
        if case .map(let members) = item.value, !members.isEmpty {
            for member in members { write(member, indent: indent + "  ", to: &lines) }
        } else {
            lines = "\(indent)  \(inline(item))\n"
        }
        text += "\(indent)- \(lines.dropFirst(indent.count + 2))"
    }

    private static func inline(_ setting: Setting) -> String {
        switch setting.value {
        case .null: "null"
        case .scalar(let text): scalar(text)
        case .list(let items): "[\(items.map(inline).joined(separator: ", "))]"
        case .map(let members):
            "{\(members.map { "\(scalar($0.key)): \(inline($0.value))" }.joined(separator: ", "))}"
        }
    }

    /// Plain if nobody could take it for anything else, else in double quotes.
    private static func scalar(_ text: String) -> String {
        let isPlain = text.unicodeScalars.allSatisfy { letters.contains($0) || "_-./:".unicodeScalars.contains($0) }
        let first = text.unicodeScalars.first
        if isPlain, !text.hasSuffix(":"), first.map({ letters.contains($0) || $0 == "/" }) == true,
            !["null", "Null", "NULL"].contains(text)
        {
            return text
        }
        return "\"\(text.unicodeScalars.map(escaped).joined())\""
    }

    private static let letters = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".unicodeScalars)

    private static func escaped(_ character: Unicode.Scalar) -> String {
        switch character.value {
        case 0x22, 0x5C: return "\\\(character)"
        case 0..<0x20, 0x7F...0xA0, 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF:
            return "\\u" + String(character.value, radix: 16).aligned(to: 4, by: "0")
        default: return String(character)
        }
    }
}
