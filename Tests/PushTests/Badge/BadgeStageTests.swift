import PushmillTestSupport
import Testing

@testable import PushmillPayload
@testable import PushmillStages

struct BadgeStageTests {
    private func payload(_ badge: String) -> String {
        #"{"aps":{"alert":"Hi","mutable-content":1,"badge":"# + badge + "}}"
    }

    private func published(
        _ payload: String, _ mode: BadgeStage.Mode = .increment, count: Int32 = 5, key: String? = "anna",
        headers: KeyValuePairs<String, String> = [:], after wait: Duration = .zero
    ) async throws -> Published {
        let chain = Chain([ChainLink(BadgeStage(mode: mode))])
        let message = Message(payload, headers, key: key)
        return try #require(await message.publish(chain, count: count, after: wait))
    }

    @Test(
        "An increment is added to the count, and 0 resets it",
        arguments: [
            ("2", 5, "7", BadgeOperation.add(2)), ("0", 5, "0", .set(0)), ("1", 0, "1", .add(1)),
            ("1e1", 0, "1e1", .add(10)),
            ("1e1", 5, "15", .add(10)), ("2147483647", 0, "2147483647", .add(.max)),
            ("2147483647", 2, "2147483647", .add(.max)), ("1", .max, "2147483647", .add(1)),
        ] as [(String, Int32, String, BadgeOperation)])
    func increments(_ badge: String, _ count: Int32, _ shown: String, _ operation: BadgeOperation) async throws {
        let published = try await published(payload(badge), count: count)
        expect(published.value, is: payload(shown))
        expect(published.badgeOperation, is: operation)
        expect(published.stages, is: "badge=ok")
    }

    @Test("In absolute mode the badge stays and becomes the count", arguments: ["7", "0", "7e0", "2147483647"])
    func absolute(_ badge: String) async throws {
        let published = try await published(payload(badge), .absolute)
        expect(published.value, is: payload(badge))
        expect(published.badgeOperation.map { Double($0.applied(to: 5)) }, is: Double(badge))
    }

    @Test(
        "A badge that is not a count stays as it came, and the stage fails",
        arguments: ["-1", "1.5", "2147483648", "1e40", #""3""#, "true", "[1]", "{}"])
    func noCount(_ badge: String) async throws {
        for mode in BadgeStage.Mode.allCases {
            let published = try await published(payload(badge), mode)
            expect(published.value, is: payload(badge))
            #expect(published.badgeOperation == nil)
            expect(published.stages, is: "badge=failed:not-a-count")
        }
    }

    @Test(
        "A message without a badge is skipped",
        arguments: [
            #"{"aps":{"alert":"Hi","mutable-content":1}}"#, #"{"aps":{"alert":"Hi","mutable-content":1,"badge":null}}"#,
        ])
    func noBadge(_ payload: String) async throws {
        let published = try await published(payload)
        expect(published.value, is: payload)
        #expect(published.badgeOperation == nil)
        expect(published.stages, is: "badge=skipped")
    }

    @Test(
        "Nothing is counted without a recipient, or for one too long for a changelog",
        arguments: BadgeStage.Mode.allCases, [nil, "", String(repeating: "x", count: 4097)])
    func noRecipient(_ mode: BadgeStage.Mode, _ key: String?) async throws {
        let published = try await published(payload("2"), mode, key: key)
        expect(published.value, is: payload("2"))
        #expect(published.badgeOperation == nil)
        expect(published.stages, is: "badge=failed:no-recipient")
    }

    @Test("A message at its last chance is counted too")
    func lastChance() async throws {
        let published = try await published(payload("2"), after: .seconds(30))
        expect(published.outcome, is: .bestAttempt)
        expect(published.value, is: payload("7"))
        expect(published.badgeOperation, is: .add(2))
    }

    @Test("A message that expired before its turn is counted too")
    func expired() async throws {
        let published = try await published(payload("2"), headers: ["apns-expiration": "1"])
        expect(published.outcome, is: .expired)
        expect(published.value, is: payload("7"))
        expect(published.badgeOperation, is: .add(2))
    }

    @Test(
        "A clearing push passes byte for byte and resets the count",
        arguments: [#"{ "aps" : {"badge":0} }"#, #"{"aps":{"badge":0,"mutable-content":1,"sound":"x"}}"#])
    func clearing(_ payload: String) async throws {
        for mode in BadgeStage.Mode.allCases {
            let published = try await published(payload, mode)
            expect(published.outcome, is: .passed)
            expect(published.value, is: payload)
            expect(published.badgeOperation, is: .set(0))
        }
        #expect(try await published(payload, key: nil).badgeOperation == nil)
    }

    @Test(
        "Any other push that passes is not counted",
        arguments: [
            #"{"aps":{"badge":2}}"#, #"{"aps":{"badge":0,"alert":"Hi"}}"#, #"{"aps":{"badge":2,"alert":"Hi"}}"#,
        ])
    func passing(_ payload: String) async throws {
        let published = try await published(payload)
        expect(published.outcome, is: .passed)
        expect(published.value, is: payload)
        #expect(published.badgeOperation == nil)
    }

    @Test("A redriven message that was counted before shows the count and does not change it")
    func redriven() async throws {
        let headers: KeyValuePairs = ["pushmill-counted": "1"]
        let again = try await published(payload("2"), headers: headers)
        expect(again.value, is: payload("5"))
        #expect(again.badgeOperation == nil)
        expect(again.stages, is: "badge=ok")
        try await expect(published(payload("0"), headers: headers).value, is: payload("5"))
        try await expect(published(payload("2"), .absolute, headers: headers).value, is: payload("2"))
        #expect(try await published(#"{"aps":{"badge":0}}"#, headers: headers).badgeOperation == nil)
    }

    @Test("Operations keep a count from 0 to 2^31-1")
    func bounds() {
        expect(BadgeOperation.add(1).applied(to: .max), is: .max)
        expect(BadgeOperation.add(-5).applied(to: 3), is: 0)
        expect(BadgeOperation.set(-5).applied(to: 3), is: 0)
    }

    private func counts(_ lines: String) throws -> BadgeCounts {
        let folder = try TemporaryFolder()
        return try BadgeCounts(InputFile(path: folder.write(lines, to: "badges.jsonl")))
    }

    @Test("Counts from 0 to 2147483647 are read from lines, and others are rejected")
    func lines() throws {
        func read(_ counts: [String]) throws {
            let lines = counts.map { #"{"recipient":"anna","count":\#($0)}"# + "\n" }
            _ = try self.counts(lines.joined())
        }
        try read([])
        try read(["0", "2147483647"])
        for count in ["-1", "2147483648", "1.5", "null"] {
            let error = #expect(throws: FileFailure.self) { try read(["1", count]) }
            expect(error?.what.hasPrefix("line 2: "), is: true)
        }
        // A line with an unreadable app is rejected, and not taken for another account's.
        for app in [#""app":7"#, #""app_b64":"?""#] {
            let line = #"{"recipient":"anna",\#(app),"count":1}"#
            #expect(throws: FileFailure.self) { try counts(line) }
        }
    }

    @Test("Counts of recipients and apps with names that are not UTF-8 are read as exported")
    func encoded() throws {
        let line = #"{"recipient_b64":"/2E=","app_b64":"/w==","count":3}"#
        let counts = try counts(line)
        func count(key: [UInt8], app: [UInt8]) -> Int32 {
            var envelope = RecordEnvelope()
            envelope.key = key
            envelope.headers = [RecordEnvelope.Header(name: Array("apns-topic".utf8), value: app)]
            let record = InputRecord()
            record.fill(envelope, topic: SourceTopic("t"))
            return counts[record]
        }
        expect(count(key: [0xFF, 0x61], app: [0xFF]), is: 3)
        expect(count(key: [0xFF, 0x61], app: []), is: 0)
        expect(count(key: Array("/2E=".utf8), app: [0xFF]), is: 0)
    }

    @Test("Blank lines are skipped, and the last line of an account counts")
    func readLines() throws {
        let lines = """
            {"recipient":"anna","app":"a","count":1}

              \t
            {"recipient":"anna","app":"a","count":2}
            {"recipient":"anna","count":3}
            {"recipient":"anna","app":"b","app_b64":"Yw==","count":4}
            """
        let counts = try counts(lines)
        func count(_ headers: KeyValuePairs<String, String>) -> Int32 {
            let record = InputRecord()
            record.fill(Message(Message.text, headers).envelope, topic: SourceTopic("t"))
            return counts[record]
        }
        #expect(count(["apns-topic": "a"]) == 2 && count([:]) == 3)
        #expect(count(["apns-topic": "c"]) == 4 && count(["apns-topic": "b"]) == 0)
        let error = #expect(throws: FileFailure.self) { try self.counts(lines + "\n\n{}") }
        expect(error?.what, is: "line 8: expected an object with `recipient`, `app` and `count` (0 to 2147483647)")
    }
}
