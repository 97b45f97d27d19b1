import PushmillPayload
import PushmillTestSupport

/// A payload renders to its own bytes, stays valid after any edits, and is restored by a rollback.
final class PayloadTarget: FuzzTarget {
    static let names = ["payload"]

    private var content = NotificationContent()
    private var output: [UInt8] = []

    init(_ name: String) {}

    func run(_ bytes: [UInt8]) throws {
        guard Self.reads(&content, bytes) else { return }
        try promise(try rendered() == bytes, "untouched, yet changed")
        let savepoint = content.savepoint()
        var choices = SeededGenerator(seed: bytes.reduce(1) { $0 &* 31 &+ UInt64($1) })
        for _ in 0..<3 { edit(bytes, &choices) }
        var again = NotificationContent()
        let edited = try rendered()
        if Self.reads(&again, edited) {
            for text in AlertText.allCases {
                try promise(again.text(text) == content.text(text), "\(text) is another after rendering")
            }
            try promise(
                again.hasAlertText == content.hasAlertText && again.badge == content.badge,
                "another notification after rendering")
        }
        content.rollback(to: savepoint)
        try promise(try rendered() == bytes, "rolled back, yet changed")
    }

    private func rendered() throws -> [UInt8] {
        output.removeAll(keepingCapacity: true)
        content.render(into: &output)
        try promise(output.count == content.renderedByteCount, "rendered to another size than foretold")
        var document = JSONDocument()
        try output.withUnsafeBytes { try document.read($0) }
        return output
    }

    private func edit(_ bytes: [UInt8], _ choices: inout SeededGenerator) {
        let text = AlertText.allCases.randomElement(using: &choices) ?? .body
        let start = Int.random(in: 0...bytes.count, using: &choices)
        let piece = Array(bytes[start..<min(bytes.count, start + 12)])
        guard let pointer = Self.pointers.randomElement(using: &choices) else { return }
        switch Int.random(in: 0..<9, using: &choices) {
        case 0: piece.withUnsafeBufferPointer { content.setText(text, to: $0.span) }
        case 1: content.setText(text, to: choices.once(in: 3) ? nil : "é\n")
        case 2: content.badge = choices.once(in: 5) ? nil : .random(in: .min ... .max, using: &choices)
        case 3: content.category = choices.once(in: 3) ? nil : "c"
        case 4: content.remove(pointer)
        case 5: content.set(json: piece.span, at: pointer)
        case 6: content.set("x", at: pointer)
        case 7: _ = content.shorten(toFit: Int.random(in: 0...bytes.count, using: &choices))
        default:
            let document = content.document
            document.forEachChild(of: document.root) { content.copyDecrypted($0, of: document) }
        }
    }

    private static func reads(_ content: inout NotificationContent, _ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in (try? content.read(bytes)) != nil }
    }

    private static let pointers = [
        "/aps", "/aps/alert", "/aps/alert/body", "/aps/alert/title", "/x", "/x/0", "/x/1/y", "/x/-", "/a/b/c", "/",
        "//a~1b",
    ].compactMap { JSONPointer($0) }
}
