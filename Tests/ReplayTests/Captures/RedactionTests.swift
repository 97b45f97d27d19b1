import PushmillPayload
import PushmillTestSupport
import Testing

@testable import PushmillReplay

@Suite("Redaction")
struct RedactionTests {
    private func redact(_ payload: String) -> String { Redaction().redacted(RecordEnvelope(payload)).payloadText }

    @Test("A payload with more values than any notification has is replaced as a whole")
    func manyValues() {
        let start = "{\"membersname\":["
        let values = { (count: Int) in start + Array(repeating: "7", count: count).joined(separator: ",") + "]}" }
        #expect(redact(values(2_000)).hasPrefix(start))
        let many = redact(values(100_000))
        #expect(!many.hasPrefix(start) && many.utf8.count == values(100_000).utf8.count)
    }

    @Test("Texts keep only their shape and length; values that programs read stay")
    func shape() throws {
        let payload =
            #"{"aps":{"alert":{"title":"Zoë, 42!","subtitle":"♔♕♖ – ☺","body":"{contact:c1} verschickte Änne","loc-key":"KEY"},"category":"CHAT","#
            + #""badge":3,"mutable-content":1},"token":"ABCDEFGH-123","n":4711e2}"#
        let redacted = redact(payload)
        let shape =
            #/\{"aps":\{"alert":\{"title":"[A-Z][a-z][À-ö], [0-9]{2}!","subtitle":"[^♔♕♖]{3} – .","body":"\{contact:[a-z][0-9]\} [a-z]{11} .[a-z]{3}","loc-key":"KEY"\},"category":"CHAT","badge":3,"mutable-content":1\},"token":"[A-Z]{8}-[0-9]{3}","n":[1-9][0-9]{3}e2\}/#
        #expect(redacted.wholeMatch(of: shape) != nil, "\(redacted)")
        expect(redacted.utf8.count, is: payload.utf8.count)
        // The stand-in of a short word may be the word itself.
        for word in ["verschickte", "ABCDEFGH"] { #expect(!redacted.contains(word)) }
    }

    @Test("A word has one stand-in throughout a capture, and another in the next capture")
    func stable() {
        let redaction = Redaction()
        let first = redaction.redacted(
            RecordEnvelope(
                #"{"aps":{"alert":"Hi anna"}}"#, key: "anna", headers: [("recipient", "anna"), ("locale", "de")]))
        let name = String(decoding: first.key ?? [], as: UTF8.self)
        #expect(name != "anna")
        expect(first.header("recipient"), is: first.key)
        expect(first.header("locale"), is: Array("de".utf8))
        #expect(first.payloadText.hasSuffix("\(name)\"}}"))
        expect(redaction.redacted(RecordEnvelope("{}", key: "anna")).key, is: first.key)
        #expect(redaction.redacted(RecordEnvelope("{}", key: "annemarie")).key?.count == 9)
        let others = (0..<4).map { _ in Redaction().redacted(RecordEnvelope("{}", key: "anna")).key }
        #expect(Set(others).count > 1)
    }

    @Test("A CloudEvent's attributes stay, but a plain payload's members of the same names do not")
    func cloudEvents() {
        let open = #""specversion":"1.0","type":"com.example.push","datacontenttype":"application/json""#
        let payload = #"{\#(open),"subject":"anna","data":{"type":"secret","aps":{"alert":"words"}}}"#
        let event = RecordEnvelope(payload, headers: [("content-type", "application/cloudevents+json")])
        let redacted = Redaction().redacted(event).payloadText
        #expect(redacted.hasPrefix("{\(open),"))
        for word in ["anna", "secret", "words"] { #expect(!redacted.contains(word)) }
        let plain = redact(payload)
        for word in ["com.example.push", "application/json"] { #expect(!plain.contains(word)) }
    }

    @Test("A CloudEvent's base64 data stay a payload of the same shape")
    func encodedData() {
        var data: [UInt8] = []
        let payload = #"{"aps":{"alert":{"body":"secret words"},"badge":3}}"#
        Array(payload.utf8).withUnsafeBytes { Base64.encode($0, into: &data) }
        let event = RecordEnvelope(
            #"{"data_base64":"\#(String(decoding: data, as: UTF8.self))"}"#,
            headers: [("content-type", "application/cloudevents+json")])
        let redacted = Redaction().redacted(event)
        expect(redacted.payload?.count, is: event.payload?.count)
        let side = RecordSide(redacted)
        #expect(side.badge == "3" && side.body?.utf8.count == 12)
        for word in ["secret", "words"] { expect(side.body?.contains(word), is: false) }
    }

    @Test(
        "Text that programs do not read is replaced entirely, wherever it stands",
        arguments: [
            #"{"aps":{"content-state":{"a":"secret","b":["words"]}}}"#, #"{"aps":{"url-args":["secret words"]}}"#,
            #"{"aps":{"badge":"secret","timestamp":["words"]}}"#, #"{"data":{"aps":{"category":"secret words"}}}"#,
            #"{"aps":{"alert":{"summary-arg":"secret words","other":"words"}}}"#, #"{"phone":-491701234567.5}"#,
            #"{"a":"٤٧١١ ४७११"}"#, #"{"aps":{"alert":"👍 ❤ 🇩🇪"}}"#,
            #"{"a":"s\u0065cret\/w\u00f6rds\n\ud83d\udc4d\u003c\ud83d \"ä"}"#,
            "{\"x/\u{301}\":\"secret\",\"~\u{301}\":\"words\"}",
        ])
    func unread(_ payload: String) throws {
        let redacted = redact(payload)
        expect(redacted.utf8.count, is: payload.utf8.count)
        for word in ["secret", "words", "1234567", "٤٧١١", "४७११", "👍", "❤", "🇩🇪"] { #expect(!redacted.contains(word)) }
        _ = try JSONDocument(bytes: Array(redacted.utf8))
    }

    @Test(
        "A payload that is not an object or repeats a member is replaced entirely",
        arguments: ["secret words", #"{"a":"secret","a":"words"}"#, #""secret words""#, #"["secret","words"]"#])
    func other(_ payload: String) {
        let redacted = redact(payload)
        expect(redacted.utf8.count, is: payload.utf8.count)
        #expect(!redacted.contains("secret"))
        #expect(!redacted.contains("words"))
    }

    @Test("What is JSON but not an object stays JSON", arguments: ["null", "[true,10]", #"["secret",false]"#])
    func stillJSON(_ payload: String) throws {
        _ = try JSONDocument(bytes: Array(redact(payload).utf8))
    }

    @Test("Bytes that are not text become other bytes")
    func binary() {
        var record = RecordEnvelope("")
        record.payload = [0, 255, 1, 254, 2, 253, 3, 252]
        let redacted = Redaction().redacted(record).payload
        expect(redacted?.count, is: 8)
        #expect(redacted != record.payload)
    }
}
