import PushmillPayload
import PushmillTestSupport
import Testing

@Suite("Shortening a payload that is too large")
struct ShorteningTests {
    @Test(
        "A text is cut at the end of a character, with an ellipsis",
        arguments: [
            ("abcdef", 1, "ab…"), ("abcdef", 3, "…"), ("ééééé", 1, "ééé…"), ("a👩‍👩‍👧‍👦b", 1, "a…"), ("ab🇩🇪🇫🇷", 1, "ab🇩🇪…"),
            ("abe\u{301}e\u{301}", 1, "ab…"),
            ("abcde\u{301}", 1, "abc…"), ("ab\r\n\r\n", 2, "ab…"), ("abcd\"\"", 1, "abcd…"), ("xxक्षिक्षि", 3, "xxक्षि…"),
        ])
    func cut(_ text: String, excess: Int, expected: String) throws {
        var content = try NotificationContent(#"{"aps":{"alert":{"body":""}}}"#)
        content.body = text
        let limit = content.renderedByteCount - excess
        expect(content.shorten(toFit: limit), is: true)
        expect(content.body.map { Array($0.utf8) }, is: Array(expected.utf8))
        #expect(content.renderedByteCount <= limit)
    }

    @Test("The longest text is cut first, and the next one only if that is not enough")
    func longest() throws {
        let body = String(repeating: "b", count: 100)
        let title = String(repeating: "t", count: 90)
        let json = "{\"aps\":{\"alert\":{\"title\":\"\(title)\",\"subtitle\":\"s\",\"body\":\"\(body)\"}}}"
        var content = try NotificationContent(json)
        expect(content.shorten(toFit: json.utf8.count - 50), is: true)
        #expect(content.body == String(repeating: "b", count: 47) + "…" && content.title == title)

        try content.read(json)
        expect(content.shorten(toFit: json.utf8.count - 120), is: true)
        #expect(
            content.body == "…" && content.title == String(repeating: "t", count: 64) + "…" && content.subtitle == "s")

        let longTitle = "{\"aps\":{\"alert\":{\"body\":\"\(title)\",\"title\":\"\(body)\",\"subtitle\":\"s\"}}}"
        try content.read(longTitle)
        expect(content.shorten(toFit: longTitle.utf8.count - 50), is: true)
        #expect(content.title == String(repeating: "b", count: 47) + "…" && content.body == title)
    }

    @Test("A payload that cutting texts cannot make fit is left as it was")
    func impossible() throws {
        let json =
            "{\"aps\":{\"alert\":{\"title\":\"tttt\",\"body\":\"bb\"}},\"d\":\"\(String(repeating: "d", count: 50))\"}"
        var content = try NotificationContent(json)
        expect(content.shorten(toFit: 60), is: false)
        #expect(!content.isEdited && content.rendered == json)
        try content.read(#"{"aps":{"alert":{"body":17},"x":"yyyyyyyyy"}}"#)
        expect(content.shorten(toFit: 20), is: false)
        #expect(!content.isEdited)
    }

    @Test("Unneeded escapes are removed before text is cut")
    func escapes() throws {
        var content = try NotificationContent(#"{"aps":{"alert":"\u043f\u0440\u0438\u0432\u0435\u0442"}}"#)
        expect(content.shorten(toFit: content.renderedByteCount - 24), is: true)
        expect(content.rendered, is: #"{"aps":{"alert":"привет"}}"#)
        expect(content.shorten(toFit: content.renderedByteCount - 1), is: true)
        expect(content.rendered, is: #"{"aps":{"alert":"прив…"}}"#)
    }

    @Test("The longest text keeps the room that removing escapes from other texts frees")
    func escapesOfOthers() throws {
        let title = String(repeating: #"\u0442"#, count: 20)
        let body = String(repeating: "b", count: 130)
        var content = try NotificationContent("{\"aps\":{\"alert\":{\"title\":\"\(title)\",\"body\":\"\(body)\"}}}")
        expect(content.shorten(toFit: 100), is: true)
        expect(content.title, is: String(repeating: "т", count: 20))
        expect(content.body, is: String(repeating: "b", count: 17) + "…")
    }

    @Test("Escapes in other texts are removed before the longest text is cut to nothing", arguments: [163, 164])
    func escapesOfOthersAtTheEdge(limit: Int) throws {
        let title = String(repeating: #"\u0442"#, count: 20)
        let body = String(repeating: "й", count: 65)
        var content = try NotificationContent("{\"aps\":{\"alert\":{\"title\":\"\(title)\",\"body\":\"\(body)\"}}}")
        expect(content.shorten(toFit: limit), is: true)
        expect(content.title, is: String(repeating: "т", count: 20))
        expect(content.body, is: String(repeating: "й", count: 40) + "…")
    }

    @Test("A payload that fits is not changed")
    func fits() throws {
        var content = try NotificationContent(#"{"aps":{"alert":"a"}}"#)
        expect(content.shorten(toFit: content.renderedByteCount), is: true)
        #expect(!content.isEdited)
    }

    @Test("A shortened text keeps its localization key for the device")
    func localized() throws {
        var content = try NotificationContent(#"{"aps":{"alert":{"body":"0123456789","loc-key":"K"}}}"#)
        expect(content.shorten(toFit: content.renderedByteCount - 4), is: true)
        expect(content.rendered, is: #"{"aps":{"alert":{"body":"012…","loc-key":"K"}}}"#)
    }
}
