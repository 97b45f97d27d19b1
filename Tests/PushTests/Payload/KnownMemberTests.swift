import PushmillPayload
import PushmillTestSupport
import Testing

/// A content usually finds the members that stages ask for without a walk. Compared with a walk that compares names.
@Suite("Members that stages ask for")
struct KnownMemberTests {
    private static let names = [
        "aps", "alert", "title", "subtitle", "body", "title-loc-key", "loc-key", "loc-args", "badge", "mutable-content",
        "x",
    ]
    private static let places = [
        "/aps", "/aps/alert", "/aps/alert/title", "/aps/alert/body", "/aps/alert/loc-key", "/aps/badge", "/title", "/x",
        "/x/aps", "/aps/x", "/aps/alert/x/title", "/aps/mutable-content",
    ]

    @Test("Known members are found as a walk finds them, whatever was edited and undone", arguments: 0..<40)
    func edits(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var content = NotificationContent()
        for _ in 0..<20 {
            let alert = random.chance(20) ? #""text""# : object(depth: 2, &random)
            let text = #"{"x":1,"aps":{"alert":\#(alert),"badge":3},"data":\#(object(depth: 2, &random))}"#
            try Array(text.utf8).withUnsafeBytes { try content.read($0) }
            let beginning = content.savepoint()
            var savepoint = beginning
            for _ in 0..<12 {
                edit(&content, &random)
                expectFound(content)
                if random.chance(30) {
                    content.rollback(to: savepoint)
                    expectFound(content)
                } else if random.chance(30) {
                    savepoint = content.savepoint()
                }
            }
            content.rollback(to: beginning)
            expectFound(content)
        }
    }

    private func edit(_ content: inout NotificationContent, _ random: inout SeededGenerator) {
        let text = random.pick(AlertText.allCases)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: content.setText(text, to: "new")
        case 1: content.removeText(text)
        case 2: content.badge = random.chance(50) ? nil : 7
        case 3: if let place = JSONPointer(random.pick(Self.places)) { content.remove(place) }
        case 4:
            let copy = content
            content.setText(text, to: "copy")
            expectFound(copy)
        default:
            let value = Array(object(depth: 2, &random).utf8)
            if let place = JSONPointer(random.pick(Self.places)) { content.set(json: value.span, at: place) }
        }
    }

    private func object(depth: Int, _ random: inout SeededGenerator) -> String {
        let members = (0..<Int.random(in: 0...5, using: &random)).map { _ in
            let value =
                depth > 0 && random.chance(40) ? object(depth: depth - 1, &random) : random.pick(["1", #""t""#])
            return "\"\(random.pick(Self.names))\":\(value)"
        }
        return "{\(members.joined(separator: ","))}"
    }

    private func expectFound(_ content: NotificationContent) {
        let document = content.document
        func member(_ name: StaticString, _ node: JSONNode?) -> JSONNode? {
            node.flatMap { document.member(name, of: $0) }
        }
        let aps = member("aps", document.root).flatMap { document.kind(of: $0) == .object ? $0 : nil }
        let alert = member("alert", aps)
        expect(content.alert, is: alert)
        expect(content.badge, is: member("badge", aps).flatMap(document.integer))
        expect(content.isMutable, is: member("mutable-content", aps).flatMap(document.integer) == 1)
        let isText = alert.map { document.kind(of: $0) == .string } ?? false
        expect(content.node(of: .title), is: member("title", alert))
        expect(content.node(of: .subtitle), is: member("subtitle", alert))
        expect(content.node(of: .body), is: isText ? alert : member("body", alert))
        expect(content.localizationKey(of: .title), is: member("title-loc-key", alert).flatMap(document.string))
        expect(content.localizationKey(of: .body), is: member("loc-key", alert).flatMap(document.string))
        let shown: [StaticString] = ["title", "subtitle", "body", "title-loc-key", "subtitle-loc-key", "loc-key"]
        let hasText = (isText ? [alert] : shown.map { member($0, alert) }).contains {
            $0.map(document.hasText) ?? false
        }
        expect(content.hasAlertText, is: hasText)
    }
}
