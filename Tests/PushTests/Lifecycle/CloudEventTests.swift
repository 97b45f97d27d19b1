import PushmillPayload
import Testing

@testable import PushmillStages

@Suite("CloudEvents in structured mode")
struct CloudEventTests {
    private let chain = Chain([ChainLink(ScriptedStage.marking("a", isImmediate: false))])
    private let data = #"{ "aps" : {"alert":"Hi","mutable-content":1} }"#
    private let type: KeyValuePairs = ["content-type": "application/cloudevents+json; charset=UTF-8"]

    @Test("The data is the payload and the attributes become headers")
    func structured() async {
        let event = """
            {"specversion":"1.0","id":"e-1","source":"/chat","type":"com.x","sequence":7,"vip":true,"no":null,\
            "Bad-Name":"x","data":\(data),"list":[1]}
            """
        let published = await Message(event, type).publish(chain)
        #expect(published?.outcome == .modified)
        #expect(published?.value == data.replacing("Hi", with: "Hia"))
        let expected = [
            "ce_specversion": "1.0", "ce_id": "e-1", "ce_source": "/chat", "ce_type": "com.x", "ce_sequence": "7",
            "ce_vip": "true", "content-type": "application/json",
        ]
        for (name, value) in expected { #expect(published?[name] == value) }
        for name in ["ce_no", "ce_Bad-Name", "ce_data", "ce_list"] { #expect(published?[name] == nil) }
    }

    @Test("The content type is the data's, and what the input says of the event is replaced")
    func replaced() async {
        let event = #"{"id":"first","id":"e-1","datacontenttype":"application/x-push","data":\#(data)}"#
        let headers: KeyValuePairs = ["ce_id": "old", "content-type": "Application/CloudEvents", "ce_other": "stays"]
        let published = await Message(event, headers).publish(chain)
        #expect(published?["content-type"] == "application/x-push")
        #expect(published?["ce_id"] == "e-1")
        #expect(published?["ce_other"] == "stays")
        #expect(published?["ce_datacontenttype"] == nil)
    }

    @Test("Data in base64 is the payload too, byte for byte")
    func base64() async {
        let event = #"{"id":"e-1","data_base64":"eyJhcHMiOnsiYWxlcnQiOiJIaSIgfX0="}"#
        let published = await Message(event, type).publish(chain)
        #expect(published?.outcome == .passed)
        #expect(published?.value == #"{"aps":{"alert":"Hi" }}"#)
    }

    @Test("What passes or returns to its original is the data's bytes")
    func untouched() async {
        let silent = #"{"aps":{"x":1e2 } }"#
        #expect(await Message(#"{"id":"e","data": \#(silent) }"#, type).publish(chain)?.value == silent)
        let emptying = ScriptedStage("e", isImmediate: true) { content, _ in
            content.body = ""
            return .ok
        }
        let published = await Message(#"{"id":"e","data": \#(data) }"#, type).publish(Chain([ChainLink(emptying)]))
        #expect(published?.outcome == .original)
        #expect(published?.value == data)
        #expect(published?["ce_id"] == "e")
    }

    @Test(
        "An event that holds no notification is a dead letter, whole",
        arguments: [
            (#"{"id":"e"}"#, DeadLetterReason.nullValue), (#"{"data":null}"#, .nullValue),
            (#"{"data_base64":"&"}"#, .nullValue), (#"{"data":"{}"}"#, .notObject), ("[]", .notObject), ("x", .notJSON),
            (#"{"data":{"x":1}}"#, .noAps), (#"{"data_base64":"eA=="}"#, .notJSON),
        ])
    func deadLetters(_ event: String, _ reason: DeadLetterReason) async {
        let published = await Message(event, type).publish(chain)
        #expect(published?.reason == reason)
        #expect(published?.value == event)
        #expect(published?["content-type"] == "application/cloudevents+json; charset=UTF-8")
    }

    @Test("Binary mode and other content types are plain payloads", arguments: ["application/json", "", "text/plain"])
    func binary(_ contentType: String) async {
        let headers: KeyValuePairs = ["content-type": contentType, "ce_id": "e-1"]
        let published = await Message(data, headers).publish(chain)
        #expect(published?.outcome == .modified)
        #expect(published?["content-type"] == contentType)
        #expect(published?["ce_id"] == "e-1")
    }

    @Test("A delivery that had an event before forgets it")
    func reused() async {
        let delivery = Delivery()
        let event = Message(#"{"id":"e-1","data":\#(data)}"#, type)
        #expect(await chain.finish(event.begin(chain, delivery), delivery)?.outcome == .modified)
        let published = await chain.finish(Message(data).begin(chain, delivery), delivery)
            .map { Published($0, delivery) }
        #expect(published?["ce_id"] == nil)
        #expect(published?["content-type"] == nil)
    }
}
