import PushmillTestSupport
import Testing

@testable import PushmillPayload

@Suite("Record envelope")
struct RecordEnvelopeTests {
    private func written(_ envelope: RecordEnvelope) -> String {
        var line: [UInt8] = []
        envelope.append(to: &line)
        return String(decoding: line, as: UTF8.self)
    }

    @Test("A record is written as one line, as kcat prints it")
    func writing() {
        var envelope = RecordEnvelope()
        envelope.topic = "push.events"
        envelope.partition = 3
        envelope.offset = 42
        envelope.timestamp = 1_700_000_000_000
        envelope.headers = [
            RecordEnvelope.Header(name: Array("a".utf8), value: Array("é\n\"".utf8)),
            RecordEnvelope.Header(name: Array("b".utf8), value: nil),
        ]
        envelope.key = Array("anna".utf8)
        envelope.payload = Array(#"{"aps":{}}"#.utf8)
        expect(
            written(envelope),
            is: #"""
                {"topic":"push.events","partition":3,"offset":42,"tstype":"create","ts":1700000000000,\#
                "headers":["a","é\n\"","b",null],"key":"anna","payload":"{\"aps\":{}}"}

                """#)
    }

    @Test("Lines up to version 2 are read without unknown members; other versions are rejected")
    func versions() throws {
        let next = Array(#"{"version":2,"payload":"x","offset":7,"by":{"a":[1]}}"#.utf8)
        let envelope = try RecordEnvelope(line: next)
        #expect(envelope.offset == 7 && envelope.payload == Array("x".utf8))
        try expect(RecordEnvelope(line: Array(#"{"version":1,"payload":"x"}"#.utf8)).payload, is: Array("x".utf8))
        for version in [3, 99] {
            let why = "a record of version \(version), written by a newer release: this one reads up to 2"
            #expect(throws: EnvelopeError(description: why)) {
                try RecordEnvelope(line: Array(#"{"version":\#(version),"payload":"x"}"#.utf8))
            }
        }
        for version in [0, -1] {
            #expect(throws: EnvelopeError.malformed("version")) {
                try RecordEnvelope(line: Array(#"{"version":\#(version),"payload":"x"}"#.utf8))
            }
        }
    }

    @Test("Each member that is not UTF-8 is written in base64")
    func binary() {
        var envelope = RecordEnvelope()
        envelope.key = [0xFF]
        envelope.payload = [0xC3, 0x28]
        envelope.headers = [
            RecordEnvelope.Header(name: [0x61], value: [0x80]), RecordEnvelope.Header(name: [], value: nil),
        ]
        expect(
            written(envelope),
            is: #"""
                {"topic":"","partition":0,"offset":0,"tstype":"create","ts":0,\#
                "headers_b64":["YQ==","gA==","",null],"key_b64":"/w==","payload_b64":"wyg="}

                """#)
    }

    @Test("Records of random bytes survive a round trip")
    func roundTrip() throws {
        var generator = SeededGenerator(seed: 7)
        func bytes() -> [UInt8]? {
            guard Int.random(in: 0..<8, using: &generator) > 0 else { return nil }
            let top: UInt8 = Bool.random(using: &generator) ? 0x7F : 0xFF
            return (0..<Int.random(in: 0..<40, using: &generator)).map { _ in .random(in: 0...top, using: &generator) }
        }
        for _ in 0..<2000 {
            var envelope = RecordEnvelope()
            envelope.partition = .random(in: 0 ... .max, using: &generator)
            envelope.offset = .random(in: .min ... .max, using: &generator)
            envelope.timestamp = .random(in: -1 ... .max, using: &generator)
            envelope.key = bytes()
            envelope.payload = bytes()
            envelope.headers = (0..<Int.random(in: 0..<4, using: &generator)).map { _ in
                RecordEnvelope.Header(name: bytes() ?? [], value: bytes())
            }
            var line: [UInt8] = []
            envelope.append(to: &line)
            expect(line.last, is: UInt8(ascii: "\n"))
            try expect(RecordEnvelope(line: line), is: envelope)
        }
    }

    @Test("A record filled from a line has the line's contents")
    func input() throws {
        let line =
            #"{"topic":"t","partition":3,"offset":9,"ts":5,"headers":["a","b","a",null],"key":"k","payload":"{}"}"#
        let envelope = try RecordEnvelope(line: Array(line.utf8))
        let record = InputRecord()
        record.fill(envelope, topic: SourceTopic("t"))
        expect(RecordEnvelope(input: record), is: envelope)
    }

    @Test("A kcat line is read with extra members, no headers and a null key")
    func kcat() throws {
        let line =
            #"{"topic":"t","partition":0,"offset":5,"tstype":"unknown","ts":0,"broker":1,"key":null,"payload":"x"}"#
        let envelope = try RecordEnvelope(line: Array(line.utf8))
        expect(envelope.topic, is: "t")
        expect(envelope.offset, is: 5)
        expect(envelope.timestampType, is: "unknown")
        #expect(envelope.key == nil)
        expect(envelope.payload, is: [0x78])
        #expect(envelope.headers.isEmpty)
    }

    @Test("Raw bytes in kcat's lines are read back")
    func rawBytes() throws {
        let line = Array(#"{"payload":"é"#.utf8) + [0xFF, 0x80] + Array(#"\n","key":"é"}"#.utf8)
        let envelope = try RecordEnvelope(line: line)
        expect(envelope.payload, is: Array("é".utf8) + [0xFF, 0x80, 0x0A])
        expect(envelope.key, is: Array("é".utf8))
    }

    @Test("Base64 is read in both alphabets, padded or not", arguments: ["+/8=", "-_8=", "+/8", "-_8"])
    func alphabets(_ text: String) throws {
        try expect(RecordEnvelope(line: Array(#"{"payload_b64":"\#(text)"}"#.utf8)).payload, is: [0xFB, 0xFF])
    }

    @Test("A base64 member takes precedence over the clear one unless it is null")
    func encodedFirst() throws {
        let line = #"""
            {"topic":"x","topic_b64":"dG9w","tstype":"x","tstype_b64":"dHM=","key":"x","key_b64":"aw==",\#
            "headers":["x","x"],"headers_b64":["aA==",null],"payload":"x","payload_b64":"cA=="}
            """#
        let envelope = try RecordEnvelope(line: Array(line.utf8))
        #expect(envelope.topic == "top" && envelope.timestampType == "ts")
        #expect(envelope.key == Array("k".utf8) && envelope.payload == Array("p".utf8))
        expect(envelope.headers, is: [RecordEnvelope.Header(name: Array("h".utf8), value: nil)])
        let nulls = #"{"key":"k","key_b64":null,"headers":null,"payload":"p","payload_b64":null,"ts":null}"#
        let clear = try RecordEnvelope(line: Array(nulls.utf8))
        #expect(clear.key == Array("k".utf8) && clear.payload == Array("p".utf8))
        #expect(clear.headers.isEmpty && clear.timestamp == 0)
    }

    @Test(
        "A null payload is accepted as a tombstone",
        arguments: [#"{"payload":null}"#, #"{"payload_b64":"","payload":null}"#])
    func tombstone(_ line: String) throws {
        let payload = try RecordEnvelope(line: Array(line.utf8)).payload
        expect(payload, is: (line.contains("b64") ? [] : nil))
    }

    @Test("In a line with raw bytes, characters beyond a byte are rejected; headers may be raw too")
    func rawHeaders() throws {
        let raw: [UInt8] = [0xFF]
        let line = Array(#"{"payload":""#.utf8) + raw + Array(#"","headers":["é",""#.utf8) + raw + Array(#""]}"#.utf8)
        let envelope = try RecordEnvelope(line: line)
        expect(envelope.payload, is: raw)
        expect(envelope.headers, is: [RecordEnvelope.Header(name: Array("é".utf8), value: raw)])
        let mistaken = Array(#"{"payload":"\u0100","key":""#.utf8) + raw + Array(#""}"#.utf8)
        #expect(throws: EnvelopeError.malformed("payload")) { try RecordEnvelope(line: mistaken) }
        let encoded = Array(#"{"payload_b64":"/w==","key":""#.utf8) + raw + Array(#""}"#.utf8)
        try expect(RecordEnvelope(line: encoded).payload, is: raw)
    }

    @Test("Numbers are read up to the limits of their types")
    func numbers() throws {
        let line = #"{"payload":"","partition":\#(Int32.min),"offset":\#(Int64.max),"ts":\#(Int64.min)}"#
        let envelope = try RecordEnvelope(line: Array(line.utf8))
        #expect(envelope.partition == .min && envelope.offset == .max && envelope.timestamp == .min)
        #expect(throws: EnvelopeError.malformed("partition")) {
            try RecordEnvelope(line: Array(#"{"payload":"","partition":2147483648}"#.utf8))
        }
    }

    @Test(
        "A line that is not an envelope is rejected with the reason",
        arguments: [
            ("[]", "not a JSON object"), ("{}", withoutPayload), (#"{"aps":{}}"#, withoutPayload),
            (#"{"payload":{}}"#, malformed("payload")), (#"{"payload_b64":"A"}"#, malformed("payload")),
            (#"{"payload_b64":"A==="}"#, malformed("payload")), (#"{"payload_b64":"AB=="}"#, malformed("payload")),
            (#"{"payload_b64":7}"#, malformed("payload")), (#"{"payload":"","key":1}"#, malformed("key")),
            (#"{"payload":"","ts":"x"}"#, malformed("ts")), (#"{"payload":"","offset":1.5}"#, malformed("offset")),
            (#"{"payload":"","partition":99999999999}"#, malformed("partition")),
            (#"{"payload":"","headers":["a"]}"#, malformed("headers")),
            (#"{"payload":"","headers":[null,"a"]}"#, malformed("headers")),
            (#"{"payload":"","headers":["a",1]}"#, malformed("headers")),
            (#"{"payload":"","headers":{}}"#, malformed("headers")),
        ])
    func refused(_ line: String, _ why: String) {
        let error = EnvelopeError(description: "not a record envelope: \(why)")
        #expect(throws: error) { try RecordEnvelope(line: Array(line.utf8)) }
    }

    private static let withoutPayload = "it has neither `payload` nor `payload_b64`"

    private static func malformed(_ member: String) -> String { "cannot read its `\(member)`" }

    @Test("A line that is not JSON is rejected with the fault and its position")
    func notJSON() {
        let error = EnvelopeError(description: "not JSON: unexpected end at byte 1")
        #expect(throws: error) { try RecordEnvelope(line: Array("{".utf8)) }
    }
}
