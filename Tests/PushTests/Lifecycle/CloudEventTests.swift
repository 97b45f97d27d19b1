import PushmillTestSupport
import Testing

@testable import PushmillPayload
@testable import PushmillStages

@Suite("CloudEvents in structured mode")
struct CloudEventTests {
    private let chain = Chain([ChainLink(ScriptedStage.marking("a", isImmediate: false))])
    private let data = #"{ "aps" : {"alert":"Hi","mutable-content":1} }"#
    private let type: KeyValuePairs = ["content-type": "application/cloudevents+json; charset=UTF-8"]

    @Test("An event's data is the payload, and its attributes become headers")
    func structured() async {
        let event = """
            {"specversion":"1.0","id":"e-1","source":"/chat","type":"com.x","sequence":7,"vip":true,"no":null,\
            "Bad-Name":"x","data":\(data),"list":[1]}
            """
        let published = await Message(event, type).publish(chain)
        expect(published?.outcome, is: .modified)
        expect(published?.value, is: data.replacing("Hi", with: "Hia"))
        let expected = [
            "ce_specversion": "1.0", "ce_id": "e-1", "ce_source": "/chat", "ce_type": "com.x", "ce_sequence": "7",
            "ce_vip": "true", "content-type": "application/json",
        ]
        for (name, value) in expected { expect(published?[name], is: value) }
        for name in ["ce_no", "ce_Bad-Name", "ce_data", "ce_list"] { #expect(published?[name] == nil) }
    }

    @Test("The content type is the data's, and the event's attributes replace the input's headers")
    func replaced() async {
        let event = #"{"id":"first","id":"e-1","datacontenttype":"application/x-push","data":\#(data)}"#
        let headers: KeyValuePairs = ["ce_id": "old", "content-type": "Application/CloudEvents", "ce_other": "stays"]
        let published = await Message(event, headers).publish(chain)
        expect(published?["content-type"], is: "application/x-push")
        expect(published?["ce_id"], is: "e-1")
        expect(published?["ce_other"], is: "stays")
        #expect(published?["ce_datacontenttype"] == nil)
    }

    @Test("Base64 data is decoded into the payload byte for byte")
    func base64() async {
        let event = #"{"id":"e-1","data_base64":"eyJhcHMiOnsiYWxlcnQiOiJIaSIgfX0="}"#
        let published = await Message(event, type).publish(chain)
        expect(published?.outcome, is: .passed)
        expect(published?.value, is: #"{"aps":{"alert":"Hi" }}"#)
    }

    @Test("A passed message or an original has exactly the data's bytes")
    func untouched() async {
        let silent = #"{"aps":{"x":1e2 } }"#
        await expect(Message(#"{"id":"e","data": \#(silent) }"#, type).publish(chain)?.value, is: silent)
        let emptying = ScriptedStage("e", isImmediate: true) { content, _ in
            content.body = ""
            return .ok
        }
        let published = await Message(#"{"id":"e","data": \#(data) }"#, type).publish(Chain([ChainLink(emptying)]))
        expect(published?.outcome, is: .original)
        expect(published?.value, is: data)
        expect(published?["ce_id"], is: "e")
    }

    @Test(
        "An event without a notification is a dead letter as a whole",
        arguments: [
            (#"{"id":"e"}"#, DeadLetterReason.nullValue), (#"{"data":null}"#, .nullValue),
            (#"{"data_base64":"&"}"#, .nullValue), (#"{"data":"{}"}"#, .notObject), ("[]", .notObject), ("x", .notJSON),
            (#"{"data":{"x":1}}"#, .noAps), (#"{"data_base64":"eA=="}"#, .notJSON),
        ])
    func deadLetters(_ event: String, _ reason: DeadLetterReason) async {
        let published = await Message(event, type).publish(chain)
        expect(published?.reason, is: reason)
        expect(published?.value, is: event)
        expect(published?["content-type"], is: "application/cloudevents+json; charset=UTF-8")
    }

    @Test("A delivery's size includes the event's index besides its data's")
    func index() async {
        let delivery = Delivery()
        let list = Array(repeating: "0", count: 1000).joined(separator: ",")
        let step = Message(#"{"list":[\#(list)],"data":\#(data)}"#, type).begin(chain, delivery)
        #expect(delivery.documentByteCount > delivery.content.document.indexByteCount + 1000 * 32)
        await expect(chain.finish(step, delivery)?.outcome, is: .modified)
    }

    @Test("Binary mode and other content types are plain payloads", arguments: ["application/json", "", "text/plain"])
    func binary(_ contentType: String) async {
        let headers: KeyValuePairs = ["content-type": contentType, "ce_id": "e-1"]
        let published = await Message(data, headers).publish(chain)
        expect(published?.outcome, is: .modified)
        expect(published?["content-type"], is: contentType)
        expect(published?["ce_id"], is: "e-1")
    }

    @Test("A reused delivery forgets an earlier event")
    func reused() async {
        let delivery = Delivery()
        let event = Message(#"{"id":"e-1","data":\#(data)}"#, type)
        await expect(chain.finish(event.begin(chain, delivery), delivery)?.outcome, is: .modified)
        let published = await chain.finish(Message(data).begin(chain, delivery), delivery)
            .map { Published($0, delivery) }
        #expect(published?["ce_id"] == nil)
        #expect(published?["content-type"] == nil)
    }

    @Test("A reused delivery has nothing of an earlier event's data and attributes")
    func another() async {
        let delivery = Delivery()
        let silent = #"{"aps":{"x":1}}"#
        for (event, id, value) in [
            (#"{"id":"1","a":"b","data":\#(data)}"#, "1", data.replacing("Hi", with: "Hia")),
            (#"{"id":"2","data":\#(silent)}"#, "2", silent),
            (#"{"id":"3","data":null,"data_base64":"eyJhcHMiOnt9fQ=="}"#, "3", #"{"aps":{}}"#),
        ] {
            let verdict = await chain.finish(Message(event, type).begin(chain, delivery), delivery)
            let published = verdict.map { Published($0, delivery) }
            expect(published?.value, is: value)
            expect(published?["ce_id"], is: id)
            expect(published?["ce_a"], is: (id == "1" ? "b" : nil))
        }
    }

    @Test("An event has at most 256 members", arguments: [(256, nil), (257, DeadLetterReason.tooLarge)])
    func most(_ count: Int, _ reason: DeadLetterReason?) async {
        let attributes = (1..<count).map { #""a\#($0)":1"# }.joined(separator: ",")
        let published = await Message(#"{"data":{"aps":{}},\#(attributes)}"#, type).publish(chain)
        expect(published?.reason, is: reason)
        #expect(reason != nil || published?["ce_a255"] == "1")
        #expect(reason == nil || published?["pushmill.error.message"] == "more than 256 members")
    }

    @Test(
        "A repeated attribute has its last value, however its name is spelled",
        arguments: [#""id":"1","\u0069d":"2""#, #""\u0069d":"1","id":"2""#, #""i\u0064":"0","id":"1","\u0069d":"2""#])
    func again(_ members: String) async {
        let published = await Message(#"{\#(members),"data":{"aps":{}}}"#, type).publish(chain)
        expect(published?["ce_id"], is: "2")
    }

    @Test("A name is compared only with later names of its own hash, until one is the same")
    func comparisons() {
        func comparisons(_ hashes: [Int], isSame: Bool = true) -> [Int] {
            hashes.indices.map { position in
                var count = 0
                let isLast = CloudEvent.isLast(position, among: hashes) { later in
                    count += 1
                    #expect(later > position && hashes[later] == hashes[position])
                    return isSame
                }
                expect(isLast, is: (count == 0 || !isSame))
                return count
            }
        }
        #expect(comparisons(Array(0..<256)).allSatisfy { $0 == 0 })
        expect(comparisons(Array(repeating: 7, count: 256)), is: Array(repeating: 1, count: 255) + [0])
        expect(comparisons([7, 1, 7, 7], isSame: false), is: [2, 0, 1, 0])
    }

    @Test("An unreadable event leaves no attributes of the previous one")
    func unreadable() throws {
        var event = CloudEvent()
        func read(_ text: String) throws -> Bool { try Array(text.utf8).withUnsafeBytes { try event.read($0) } }
        func names() -> [String] {
            var names: [String] = []
            event.forEachAttribute { name, _ in names.append(String(decoding: name, as: UTF8.self)) }
            return names
        }
        #expect(try read(#"{"a":1,"b":2,"data":{}}"#))
        expect(names(), is: ["a", "b"])
        let members = (0...256).map { #""a\#($0)":1"# }.joined(separator: ",")
        for text in ["{", "[]", "{\(members)}"] {
            #expect(throws: PayloadError.self) { try read(text) }
            expect(names(), is: [])
        }
    }

    @Test(
        "A CloudEvents content type is recognized by its beginning, in any case",
        arguments: [
            ("application/cloudevents", true), ("APPLICATION/CLOUDEVENTS+JSON", true),
            ("application/cloudevent", false),
            ("application/cloudeventz", false), ("Xpplication/cloudevents", false), ("", false),
        ])
    func types(_ contentType: String, _ isEvent: Bool) async {
        let event = #"{"id":"e","data":{"aps":{}}}"#
        let published = await Message(event, ["content-type": contentType]).publish(chain)
        expect(published?.outcome, is: (isEvent ? .passed : .deadLetter))
    }

    @Test(
        "Attribute names have only lowercase letters and digits; a datacontenttype must be a text",
        arguments: ["7", "\"\""])
    func attributes(type given: String) async {
        let names = ["a", "z", "0", "9", "az09", "`a", "{a", "/a", ":a", "A", "a-b", ""]
        let members = names.map { #""\#($0)":"v""# }.joined(separator: ",")
        let event = #"{\#(members),"datacontenttype":\#(given),"q":"a\"b","data":{"aps":{}}}"#
        let published = await Message(event, type).publish(chain)
        for (index, name) in names.enumerated() {
            expect(published?["ce_\(name)"], is: (index < 5 ? "v" : nil), "\(name)")
        }
        expect(published?["content-type"], is: "application/json")
        expect(published?["ce_q"], is: #"a"b"#)
    }
}
