import Push
import Testing

@Suite("A notification's content")
struct NotificationContentTests {
    @Test("What is not edited is rendered byte for byte")
    func untouched() throws {
        let json = " { \"aps\" : {\"alert\":\"h\\u00e9\\/\" , \"x\":1e2}, \"n\":12345678901234567890 }\n"
        let content = try NotificationContent(json)
        #expect(!content.isEdited)
        #expect(rendered(content) == json)
    }

    @Test("A text set takes the place of its loc-key and loc-args")
    func localizationRemoved() throws {
        var content = try NotificationContent(
            #"{"aps":{"alert":{"loc-key":"K", "title" : "t" ,"loc-args":["a"]},"mutable-content":1}, "d":1}"#)
        #expect(content.isMutable && content.hasAlertText)
        content.body = "Grüße \"x\"\n"
        #expect(
            rendered(content)
                == #"{"aps":{"alert":{"title" : "t","body":"Grüße \"x\"\n"},"mutable-content":1}, "d":1}"#)
        #expect(content.body == "Grüße \"x\"\n")
    }

    @Test("A subtitle turns a string alert into a dictionary, a body leaves it a string")
    func stringAlert() throws {
        var content = try NotificationContent(#"{"aps":{"alert":"h\u00e9"}}"#)
        let mark = content.mark()
        content.subtitle = "s"
        #expect(rendered(content) == #"{"aps":{"alert":{"body":"h\u00e9","subtitle":"s"}}}"#)
        content.rollback(to: mark)
        #expect(!content.isEdited)
        content.body = "x"
        #expect(rendered(content) == #"{"aps":{"alert":"x"}}"#)
        content.badge = 3
        #expect(rendered(content) == #"{"aps":{"alert":"x","badge":3}}"#)
        content.body = nil
        #expect(rendered(content) == #"{"aps":{"badge":3}}"#)
    }

    private func rendered(_ content: NotificationContent) -> String {
        var output: [UInt8] = []
        content.render(into: &output)
        #expect(output.count == content.renderedByteCount)
        return String(decoding: output, as: UTF8.self)
    }
}
