import PushmillPayload
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillReplay

@Suite("Replays")
struct ReplayRunTests {
    private let events = Scene.events(500)

    @Test("The same configuration changes nothing, whatever the baseline's order", arguments: [1, 5])
    func same(_ lanes: Int) async throws {
        var settings = ReplayRun.Settings()
        settings.lanes = lanes
        let golden = try await Scene().outputs(events)
        let found = try await Scene().replay(events, against: golden.shuffled(), settings: settings)
        #expect(found.summary.isSame)
        expect(found.summary.records, is: 500)
        expect(found.summary.same, is: 500)
        expect(found.summary.outcomes.mapValues(\.before), is: ["modified": 490, "dead-letter": 10])
        expect(found.summary.outcomes.mapValues(\.after), is: ["modified": 490, "dead-letter": 10])
    }

    @Test("Any number of lanes finds the same changes in the same order")
    func deterministic() async throws {
        let golden = try await Scene().outputs(events)
        var scene = Scene()
        scene.phrases.texts["NEW.other"] = "# news"
        var all: [[String]] = []
        for lanes in [1, 2, 7] {
            var settings = ReplayRun.Settings()
            settings.lanes = lanes
            all.append(try await scene.replay(events, against: golden, settings: settings).changes.map { "\($0)" })
        }
        expect(all[0], is: all[1])
        expect(all[0], is: all[2])
        #expect(!all[0].isEmpty)
    }

    @Test("A changed translation is found in its field only")
    func translation() async throws {
        let golden = try await Scene().outputs(events)
        var scene = Scene()
        scene.phrases.texts["BYE"] = "Farewell"
        let found = try await scene.replay(events, against: golden)
        expect(found.fields, is: ["/aps/alert/body 100"])
        expect(found.summary.changed, is: 100)
        let sources = found.summary.fields.first?.examples.map(\.source)
        expect(sources, is: ["events/1/1", "events/0/6", "events/0/11"])
        expect(
            found.summary.fields.first?.examples.first?.change,
            is: FieldChange(field: "/aps/alert/body", before: #""Goodbye""#, after: #""Farewell""#))
    }

    @Test("A lost translation shows in the body, the loc-key and the stage's result")
    func lostKey() async throws {
        let golden = try await Scene().outputs(events)
        var scene = Scene()
        scene.phrases.texts["HELLO"] = nil
        let found = try await scene.replay(events, against: golden)
        expect(found.fields, is: ["/aps/alert/body 100", "/aps/alert/loc-key 100", "header:pushmill-stages 100"])
    }

    @Test("A wrong plural rule is found only for the numbers that it affects")
    func plural() async throws {
        let golden = try await Scene().outputs(events)
        var scene = Scene()
        scene.phrases.isSingular = { $0 < 2 }
        let found = try await scene.replay(events, against: golden)
        let wrong = events.filter { $0.payloadText.contains(#"["0"]"#) }.count
        expect(found.fields, is: ["/aps/alert/body \(wrong)"])
    }

    @Test("A badge that is off by one is found in its record only")
    func badge() async throws {
        var golden = try await Scene().outputs(events)
        let index = 100
        let before = golden[index].payloadText
        let badge = try #require(before.firstMatch(of: /"badge":(\d+)/).flatMap { Int($0.1) })
        golden[index].payload = Array(before.replacing("\"badge\":\(badge)", with: "\"badge\":\(badge + 1)").utf8)
        let found = try await Scene().replay(events, against: golden)
        expect(found.fields, is: ["/aps/badge 1"])
        expect(found.changes.map(\.source), is: [events[index].place])
        expect(
            found.changes.first?.fields,
            is: [FieldChange(field: "/aps/badge", before: "\(badge + 1)", after: "\(badge)")])
    }

    @Test(
        "A respelled value is reported for its field, and changed whitespace as layout",
        arguments: [("1e2", "100", "/price 490"), ("\"price\"", " \"price\"", "layout 490")])
    func spelling(_ old: String, _ new: String, _ expected: String) async throws {
        let golden = try await Scene().outputs(events).map { output in
            var output = output
            if output.payloadText.hasPrefix("{") {
                output.payload = Array(output.payloadText.replacing(old, with: new).utf8)
            }
            return output
        }
        let found = try await Scene().replay(events, against: golden)
        expect(found.fields, is: [expected])
    }

    @Test("Texts and binary values are compared by their bytes")
    func bytes() async throws {
        func event(_ name: String, _ values: [[UInt8]]) -> RecordEnvelope {
            var event = RecordEnvelope(#"{"aps":{"alert":"\#(name)","mutable-content":1}}"#)
            event.headers = values.map { RecordEnvelope.Header(name: Array("blob".utf8), value: $0) }
            return event
        }
        let blob = [UInt8](repeating: 0xFF, count: 40)
        var another = blob
        another[39] = 0xFE
        let composed = event("Zo\u{EB}", [blob])
        for (other, fields) in [
            (event("Zoe\u{308}", [blob]), ["/aps/alert 1"]),
            (event("Zo\u{EB}", [another]), ["header:blob 1"]),
        ] {
            let golden = try await Scene().outputs([other])
            try await expect(Scene().replay([composed], against: golden).fields, is: fields)
        }
        let golden = try await Scene().outputs([event("Zoe", [Array("a, b".utf8)])])
        let twice = event("Zoe", [Array("a".utf8), Array("b".utf8)])
        try await expect(Scene().replay([twice], against: golden).fields, is: ["header:blob 1"])
    }

    @Test(
        "A timestamp that brokers or the producer set is no change",
        arguments: [("logappend", 1, true), ("create", 0, true), ("create", -1, true), ("create", 1, false)])
    func timestamps(_ type: String, _ sent: Int64, _ isSame: Bool) {
        var recorded = RecordEnvelope("{}", timestamp: 1_700_000_000_000)
        recorded.timestampType = type
        let comparison = RecordComparison(ignored: IgnoredFields([]))
        let changes = comparison.changes(from: recorded, to: RecordEnvelope("{}", timestamp: sent))
        expect(changes.map(\.field), is: isSame ? [] : ["timestamp"])
    }

    @Test("Changed headers whose names differ only in bytes keep the same order")
    func headerOrder() {
        // None of the names is text, and all are shown the same.
        let names = (0x80...0x8F).map { [UInt8($0)] }
        func record(_ value: String) -> RecordEnvelope {
            var record = RecordEnvelope("{}")
            record.headers = names.map { RecordEnvelope.Header(name: $0, value: Array("\(value) \($0[0])".utf8)) }
            return record
        }
        let changes = RecordComparison(ignored: IgnoredFields([])).changes(from: record("old"), to: record("new"))
        expect(Set(changes.map(\.field)), is: ["header:\u{FFFD}"])
        expect(changes.compactMap(\.before), is: names.map { "old \($0[0])" })
    }

    @Test("Counts start as the baseline implies, or as they are given")
    func counts() async throws {
        let earlier = Scene.events(70)
        let later = Array(Scene.events(140).dropFirst(70))
        let golden = Array(try await Scene().outputs(earlier + later).dropFirst(70))
        #expect(try await Scene().replay(later, against: golden).summary.isSame)
        var scene = Scene()
        scene.counts = BadgeCounts()
        let found = try await scene.replay(later, against: golden)
        expect(found.fields, is: ["/aps/badge \(golden.filter { $0.payloadText.hasPrefix("{") }.count)"])
    }

    @Test("Counts start at the first record in the baseline, whatever was counted before")
    func laterCounts() async throws {
        let earlier = Scene.events(70)
        let all = Scene.events(210)
        let golden = try await Scene().outputs(all)
        // The topic of outputs does not reach back as far as its input.
        let found = try await Scene().replay(Array(all[earlier.count...]), against: Array(golden[140...]))
        expect(found.fields, is: [])
        #expect((found.summary.new, found.summary.same) == (70, 70))
    }

    @Test("Counts of CloudEvents start as the baseline implies; events counted before add nothing")
    func countsOfOthers() async throws {
        let payload = #"{"aps":{"alert":"x","mutable-content":1,"badge":1}}"#
        var data: [UInt8] = []
        Array(payload.utf8).withUnsafeBytes { Base64.encode($0, into: &data) }
        let event = #"{"data_base64":"\#(String(decoding: data, as: UTF8.self))"}"#
        var scene = Scene()
        scene.counts = BadgeCounts { _ in 7 }
        let reset = #"{"aps":{"alert":"x","mutable-content":1,"badge":0}}"#
        for (value, header, badge) in [
            (event, ("content-type", "application/cloudevents+json"), 8), (payload, ("pushmill-counted", "true"), 7),
            (reset, ("pushmill-counted", "true"), 7),
        ] {
            let events = [RecordEnvelope(value, headers: [header])]
            let golden = try await scene.outputs(events)
            expect(golden.map { NotificationContent($0)?.badge }, is: [badge])
            #expect(try await Scene().replay(events, against: golden).summary.isSame)
        }
    }

    @Test("A badge that the baseline left unchanged does not start a count")
    func uncounted() async throws {
        let events = (0..<2).map {
            RecordEnvelope(#"{"aps":{"alert":"x","mutable-content":1,"badge":1}}"#, offset: $0)
        }
        var scene = Scene()
        scene.counts = BadgeCounts { _ in 7 }
        let counted = try await scene.outputs(events)
        expect(counted.map { NotificationContent($0)?.badge }, is: [8, 9])
        // A dead letter has no stages.
        let reports: [StaticString?] = [
            nil, "localize=skipped,badge=skipped", "localize=skipped,badge=failed:no-recipient",
        ]
        for report in reports {
            var golden = counted
            golden[0].payload = events[0].payload
            if let report {
                golden[0].setHeader("pushmill-stages", to: report)
            } else {
                golden[0].headers.removeAll { $0.isNamed("pushmill-stages") }
            }
            let found = try await Scene().replay(events, against: golden)
            expect(found.changes.map(\.source), is: [events[0].place])
        }
    }

    @Test("A replay takes each record's timestamp as the time")
    func clock() async throws {
        let payload = #"{"aps":{"alert":"x","mutable-content":1}}"#
        let events = [(0, "1699999999"), (1, "1700000001")].map {
            RecordEnvelope(payload, offset: $0.0, headers: [("apns-expiration", $0.1)])
        }
        let outcomes = try await Scene().outputs(events).map { $0.text("pushmill-outcome") }
        expect(outcomes, is: ["expired", "modified"])
    }

    @Test("If recorded deadlines are repeated, a stage that was late is late again")
    func lateness() async throws {
        var golden = try await Scene().outputs(events)
        // The deadline came while the texts were looked up; the badge still counts.
        for index in [2, 11] {
            let badge = try #require(NotificationContent(golden[index])?.badge)
            let late = events[index].payloadText.replacing("\"badge\":1", with: "\"badge\":\(badge)")
            golden[index].payload = Array(late.utf8)
            golden[index].setHeader("pushmill-outcome", to: "best-attempt")
            golden[index].setHeader("pushmill-stages", to: "localize=expired,badge=ok")
        }
        try await expect(Scene().replay(events, against: golden).summary.changed, is: 2)
        var scene = Scene()
        scene.recorded = RecordedOutputs(repeatsDeadlines: true)
        let found = try await scene.replay(events, against: golden)
        expect(found.fields, is: [])
        expect(found.summary.outcomes["best-attempt"]?.after, is: 2)
    }

    @Test("A recorded deadline is repeated even if no stage had anything to do")
    func idleLateness() async throws {
        let events = [RecordEnvelope(#"{"aps":{"alert":"x","mutable-content":1}}"#)]
        var golden = try await Scene().outputs(events)
        expect(golden[0].text("pushmill-stages"), is: "localize=skipped,badge=skipped")
        golden[0].setHeader("pushmill-outcome", to: "best-attempt")
        var scene = Scene()
        scene.recorded = RecordedOutputs(repeatsDeadlines: true)
        #expect(try await scene.replay(events, against: golden).summary.isSame)
    }

    @Test("A recorded deadline is repeated for a record with a binary header")
    func latenessBesideBytes() async throws {
        var event = RecordEnvelope(#"{"aps":{"alert":"x","mutable-content":1}}"#)
        event.headers = [RecordEnvelope.Header(name: Array("blob".utf8), value: [0xFF])]
        var golden = try await Scene().outputs([event])
        golden[0].setHeader("pushmill-outcome", to: "best-attempt")
        var scene = Scene()
        scene.recorded = RecordedOutputs(repeatsDeadlines: true)
        #expect(try await scene.replay([event], against: golden).summary.isSame)
    }

    @Test("An output only in the baseline is missing; one only in the replay is new")
    func missingAndNew() async throws {
        let payload = #"{"aps":{"alert":"x"}}"#
        let events = (0..<4).map {
            RecordEnvelope(payload, offset: $0, headers: $0 == 2 ? [("apns-expiration", "1")] : [])
        }
        var dropping = Scene()
        dropping.publishesExpired = false
        let (kept, dropped) = (try await Scene().outputs(events), try await dropping.outputs(events))
        let missing = try await dropping.replay(events, against: kept)
        expect(missing.summary.missing, is: 1)
        expect(missing.changes.map { "\($0.kind) \($0.source)" }, is: ["missing events/0/2"])
        let new = try await Scene().replay(events, against: dropped)
        expect(new.changes.map { "\($0.kind) \($0.source)" }, is: ["new events/0/2"])
        #expect((new.summary.same, new.summary.new, new.summary.missing) == (3, 1, 0))
    }

    @Test("Outputs without an input are missing, unless a wider baseline has them outside the range")
    func left() async throws {
        let golden = try await Scene().outputs(events)
        let some = Array(events[100..<300].filter { $0.offset != 249 })
        let strict = try await Scene().replay(some, against: golden)
        expect(strict.summary.missing, is: 301)
        expect(strict.summary.same, is: 199)
        let wide = try await Scene().replay(some, against: golden, isWider: true)
        expect(wide.changes.map { "\($0.kind) \($0.source)" }, is: ["missing events/0/249"])
    }

    @Test("Of an output that came twice, the last one counts")
    func repeated() async throws {
        let golden = try await Scene().outputs(events)
        var wrong = golden[5]
        wrong.payload = Array("{}".utf8)
        #expect(try await Scene().replay(events, against: [wrong] + golden, isWider: true).summary.isSame)
        try await expect(Scene().replay(events, against: golden + [wrong], isWider: true).summary.changed, is: 1)
    }

    @Test("Ignored fields may differ, with everything below them")
    func ignored() async throws {
        let golden = try await Scene().outputs(events)
        var scene = Scene()
        scene.phrases.texts["HELLO"] = nil
        var settings = ReplayRun.Settings()
        settings.ignored = IgnoredFields(["/aps/alert", "header:pushmill-stages"])
        #expect(try await scene.replay(events, against: golden, settings: settings).summary.isSame)
        settings.ignored = IgnoredFields(["payload", "header:pushmill-stages"])
        #expect(try await scene.replay(events, against: golden, settings: settings).summary.isSame)
        settings.ignored = IgnoredFields(["/aps/ale"])
        try await expect(scene.replay(events, against: golden, settings: settings).fields.count, is: 3)
    }

    @Test("A filter leaves other records out, and counts stay the same")
    func filtered() async throws {
        let golden = try await Scene().outputs(events)
        var settings = ReplayRun.Settings()
        settings.filter.keys = [Array("recipient-3".utf8)]
        let found = try await Scene().replay(events, against: golden, settings: settings)
        #expect(found.summary.isSame)
        expect(found.summary.records, is: events.filter { $0.key == Array("recipient-3".utf8) }.count)
        settings.filter = RecordFilter()
        settings.filter.outcomes = ["dead-letter"]
        try await expect(Scene().replay(events, against: golden, settings: settings).summary.records, is: 10)
        settings.filter = RecordFilter()
        settings.filter.categories = ["CHAT"]
        let chat = #"{"aps":{"alert":"x","category":"CHAT"}}"#
        let chats = [
            RecordEnvelope(chat, offset: 1000),
            RecordEnvelope(
                #"{"data":\#(chat)}"#, offset: 1001, headers: [("content-type", "application/cloudevents+json")]),
        ]
        let more = try await Scene().outputs(events + chats)
        try await expect(Scene().replay(events + chats, against: more, settings: settings).summary.records, is: 2)
    }

    @Test("A filter by an unknown key or category is an error, by an unused outcome not")
    func nothingMeant() async throws {
        let golden = try await Scene().outputs(events)
        func replay(_ change: (inout RecordFilter) -> Void) async throws -> ReplaySummary {
            var settings = ReplayRun.Settings()
            change(&settings.filter)
            return try await Scene().replay(events, against: golden, settings: settings).summary
        }
        let key = await #expect(throws: ReplayError.self) { try await replay { $0.keys = [Array("recipent-3".utf8)] } }
        expect(key?.description, is: "the recording: no record has the given key or category, or one of them")
        await #expect(throws: ReplayError.self) { try await replay { $0.categories = ["CAHT"] } }
        let keys = ["recipient-3", "recipent-4"].map { Array($0.utf8) }
        await #expect(throws: ReplayError.self) { try await replay { $0.keys = Set(keys) } }
        let anna = try await replay { ($0.keys, $0.outcomes) = ([Array("recipient-3".utf8)], ["expired"]) }
        #expect(anna.isSame && anna.records == 0)
    }

    @Test("A filter compares keys by their bytes")
    func keyBytes() {
        var filter = RecordFilter()
        filter.keys = [Array("Zoe\u{308}".utf8), Array("\u{FFFD}".utf8)]
        #expect(filter.admits(RecordEnvelope("x", key: "Zoe\u{308}")))
        #expect(!filter.admits(RecordEnvelope("x", key: "Zo\u{EB}")))
        var record = RecordEnvelope("x")
        record.key = [0xFF]
        #expect(!filter.admits(record))
    }

    @Test("An empty input, a foreign baseline and a baseline without outputs are errors")
    func unreadable() async throws {
        let golden = try await Scene().outputs(events)
        let empty = await #expect(throws: ReplayError.self) { try await Scene().replay([], against: golden) }
        expect(empty?.description, is: "the recording: no records")
        let others = events.map { event in
            var event = event
            event.topic = "others"
            return event
        }
        let foreign = await #expect(throws: ReplayError.self) { try await Scene().replay(others, against: golden) }
        expect(
            foreign?.description,
            is: "the baseline: none of its 500 records comes from a record of the recording; they come from events")
        let strange = golden.prefix(1).map { output in
            var output = output
            output.setHeader("pushmill-source", to: "\u{1B}[2Jevents/0/0")
            return output
        }
        let shown = await #expect(throws: ReplayError.self) { try await Scene().replay(events, against: strange) }
        expect(shown?.description.hasSuffix("they come from \\u{1B}[2Jevents"), is: true)
        let input = await #expect(throws: ReplayError.self) { try await Scene().replay(events, against: events) }
        expect(
            input?.description, is: "golden: events/0/0 has no header pushmill-source: it is not an output")
    }
}
