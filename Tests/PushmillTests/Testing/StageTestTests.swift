import Pushmill
import PushmillTesting
import PushmillTestSupport
import Testing

@Suite("StageTest")
struct StageTestTests {
    /// Greets the recipient, and says so in the log.
    private struct Greeting: ImmediateStage {
        let name = "greeting"

        func didReceive(_ content: inout NotificationContent, context: StageContext) -> StageResult {
            guard let recipient = context.recipient else { return .skipped }
            context.log(.info, "greets")
            content.body = "Hello \(recipient)"
            return .ok
        }

        func timeWillExpire(_ content: inout NotificationContent, context: StageContext) -> StageResult {
            content.body = "Hello"
            return .expired
        }
    }

    /// Runs until it is canceled.
    private struct Hanging: Stage {
        let name = "hanging"
        private let begun = AsyncStream.makeStream(of: Void.self)
        private let ended = AsyncStream.makeStream(of: Void.self)

        func didReceive(_ content: inout NotificationContent, context: StageContext) async throws -> StageResult {
            begun.continuation.finish()
            defer { ended.continuation.finish() }
            try await Task.sleep(for: .seconds(3600))
            return .ok
        }

        func timeWillExpire(_ content: inout NotificationContent, context: StageContext) -> StageResult {
            content.title = "Late"
            return .expired
        }

        func waitUntilBegun() async { for await _ in begun.stream {} }
        func waitUntilEnded() async { for await _ in ended.stream {} }
    }

    /// Ignores cancellation and logs its end.
    private struct Deaf: Stage {
        let name = "deaf"
        let begun = AsyncStream.makeStream(of: Void.self)
        let released = AsyncStream.makeStream(of: Void.self)
        let ended = AsyncStream.makeStream(of: Void.self)

        func didReceive(_ content: inout NotificationContent, context: StageContext) async -> StageResult {
            begun.continuation.finish()
            await Task { [released] in for await _ in released.stream {} }.value
            context.log(.info, "ends")
            ended.continuation.finish()
            return .ok
        }
    }

    /// Writes the message's deadline into the body.
    private struct Deadline: ImmediateStage {
        let name = "deadline"

        func didReceive(_ content: inout NotificationContent, context: StageContext) -> StageResult {
            content.body = "\(context.deadline.nanoseconds)"
            return .ok
        }
    }

    /// Signals its release.
    private final class Held: Sendable {
        let gone = AsyncStream.makeStream(of: Void.self)

        deinit { gone.continuation.finish() }
    }

    private let payload = #"{"aps":{"alert":{"body":"?"},"mutable-content":1}}"#

    @Test("A result has the outcome, the stages, the text, the headers and the log")
    func result() async {
        let test = StageTest(Greeting())
        let result = await test.run(payload, headers: ["recipient": "bert", "x": "1"], recipient: "anna")
        expect(result.outcome, is: .modified)
        expect(result.stages, is: ["greeting": .ok])
        expect(result.payload, is: #"{"aps":{"alert":{"body":"Hello bert"},"mutable-content":1}}"#)
        expect(result.headers["x"], is: "1")
        expect(result.headers["pushmill-stages"], is: "greeting=ok")
        expect(result.log, is: ["info: greeting: greets"])
        let next = await test.run(payload)
        expect(next.stages, is: ["greeting": .skipped])
        expect(next.log, is: [])
        expect(next.headers["pushmill-source"], is: "test/0/1")
    }

    @Test("An invalid payload is a dead letter with its reason; an expired one may be dropped")
    func otherEnds() async throws {
        let letter = await StageTest(Greeting()).run("[")
        expect(letter.outcome, is: .deadLetter)
        expect(letter.reason, is: .notJSON)
        expect(letter.payload, is: "[")
        let test = try await StageTest(configuration: "{ delivery: { expired: drop }, stages: [badge] }")
        let expiry = "\(StageTest.timestamp / 1000 - 1)"
        let dropped = await test.run(payload, headers: ["apns-expiration": expiry], recipient: "anna")
        expect(dropped.summary, is: "expired: dropped")
        #expect(dropped.payload == nil)
    }

    @Test(
        "expire() brings the deadline before or during a stage without waiting for it",
        .timeLimit(.minutes(1)))
    func deadline() async {
        let late = await StageTest(Greeting()).expire(payload, recipient: "anna")
        expect(late.summary, is: "best-attempt: greeting=expired")
        expect(late.body, is: "Hello")
        let hanging = Hanging()
        let test = StageTest(Greeting(), hanging)
        let result = await test.expire(payload, recipient: "anna") { await hanging.waitUntilBegun() }
        expect(result.summary, is: "best-attempt: greeting=ok,hanging=expired")
        expect(result.title, is: "Late")
        await hanging.waitUntilEnded()
    }

    @Test("A late log line of an abandoned stage does not go to the next message", .timeLimit(.minutes(1)))
    func lateLog() async {
        let deaf = Deaf()
        let test = StageTest(deaf)
        let abandoned = await test.expire(payload) { for await _ in deaf.begun.stream {} }
        expect(abandoned.summary, is: "best-attempt: deaf=expired")
        deaf.released.continuation.finish()
        for await _ in deaf.ended.stream {}
        await expect(test.expire(payload).log, is: [])
    }

    @Test("A moment that throws is logged, and the deadline still comes", .timeLimit(.minutes(1)))
    func failingMoment() async {
        let hanging = Hanging()
        let result = await StageTest(hanging).expire(payload, recipient: "anna") {
            await hanging.waitUntilBegun()
            throw CancellationError()
        }
        expect(result.summary, is: "best-attempt: hanging=expired")
        expect(result.log, is: ["error: once: CancellationError()"])
    }

    @Test("A moment that returns after its message brings the next no deadline", .timeLimit(.minutes(1)))
    func lateMoment() async {
        let test = StageTest(Deadline())
        let never = AsyncStream.makeStream(of: Void.self)
        var held: Held? = Held()
        let gone = held?.gone.stream
        let first = await test.expire(payload) { [held] in
            for await _ in never.stream {}
            withExtendedLifetime(held) {}
        }
        held = nil
        if let gone { for await _ in gone {} }
        expect(first.summary, is: "modified: deadline=ok")
        await expect(test.run(payload).body, is: "30000000000")
    }

    @Test("A budget ends when the clock is advanced that far", .timeLimit(.minutes(1)))
    func budget() async {
        let hanging = Hanging()
        let test = StageTest(hanging, Greeting(), budget: .seconds(2))
        async let result = test.run(payload, recipient: "anna")
        await hanging.waitUntilBegun()
        await test.advance(by: .milliseconds(1999))
        await test.advance(by: .milliseconds(1))
        await expect(result.summary, is: "modified: hanging=expired,greeting=ok")
    }

    @Test("A budget of zero ends at once", .timeLimit(.minutes(1)))
    func noBudget() async {
        let result = await StageTest(Hanging(), budget: .zero).run(payload)
        expect(result.summary, is: "modified: hanging=expired")
        expect(result.title, is: "Late")
    }

    @Test("A configuration's catalog, contacts and counts are those that the test gives")
    func configuration() async throws {
        let test = try await StageTest(
            configuration: """
                stages:
                  - localize: { catalog: texts, default-locale: pl }
                  - contact: { source: state }
                  - badge
                """,
            files: ["texts/pl.lproj/Localizable.strings": #""SENT" = "%@ napisała";"#],
            contacts: ["anna": ["c1": "Zoë"]], badges: ["anna": 3])
        let payload =
            #"{"aps":{"alert":{"loc-key":"SENT","loc-args":["{contact:c1}"]},"badge":2,"mutable-content":1}}"#
        let first = await test.run(payload, headers: ["locale": "pl"], recipient: "anna")
        expect(first.summary, is: "modified: localize=ok,contact=ok,badge=ok")
        expect(first.body, is: "Zoë napisała")
        expect(first.badge, is: 5)
        await expect(test.run(payload, recipient: "anna").badge, is: 7)
    }

    @Test("A contact whose name is invisible counts as unknown, as in a store")
    func namelessContact() async throws {
        let test = try await StageTest(
            configuration: "stages: [contact: { source: state }]",
            contacts: ["anna": ["c1": " ", "c2": "\u{1}"], "*": ["c1": "Zoë"]])
        let shared = await test.run(payload.replacing("?", with: "{contact:c1}"), recipient: "anna")
        expect(shared.body, is: "Zoë")
        let unknown = await test.run(payload.replacing("?", with: "{contact:c2}"), recipient: "anna")
        expect(unknown.summary, is: "modified: contact=miss")
        expect(unknown.body, is: "Someone")
    }

    @Test("Recipients and contact IDs are compared by their bytes, as in a store")
    func composedName() async throws {
        let test = try await StageTest(
            configuration: "stages: [contact: { source: state }, badge]",
            contacts: ["Zo\u{EB}": ["No\u{EB}l": "Father"]], badges: ["Zo\u{EB}": 3])
        let payload = #"{"aps":{"alert":"{contact:No\#u{EB}l}","badge":1,"mutable-content":1}}"#
        let known = await test.run(payload, recipient: "Zo\u{EB}")
        #expect(known.body == "Father" && known.badge == 4)
        let identifier = await test.run(payload.replacing("\u{EB}", with: "e\u{308}"), recipient: "Zo\u{EB}")
        expect(identifier.summary, is: "modified: contact=miss,badge=ok")
        let owner = await test.run(payload, recipient: "Zoe\u{308}")
        #expect(owner.summary == "modified: contact=miss,badge=ok" && owner.badge == 1)
    }

    @Test("Two stages of one name are refused, since metrics, headers and results could not tell them apart")
    func sameName() async throws {
        let entries = ["first", "second"].map { name in StageEntry(name) { _ in { _ in Greeting() } } }
        let error = await #expect(throws: (any Error).self) {
            try await StageTest(configuration: "stages: [first, second]", stages: entries)
        }
        #expect(error.map { "\($0)" }?.contains("stages.second: another stage") == true)
    }

    @Test("The sample's configuration runs from its file")
    func configurationFile() async throws {
        let test = try await StageTest(configurationFile: "../../../deploy/sample/pushmill.yaml")
        let payload =
            #"{"aps":{"alert":{"loc-key":"PHOTOS","loc-args":["2","{contact:c1}"]},"badge":1,"mutable-content":1}}"#
        let result = await test.run(payload, headers: ["locale": "pl"], recipient: "anna")
        expect(result.summary, is: "modified: decrypt=skipped,localize=ok,contact=ok,badge=ok")
        expect(result.body, is: "2 nowe zdjęcia od: Zoë Martin")
    }

    @Test("Golden files are written, compared by field, and reported if they are missing")
    func golden() async throws {
        let folder = try TemporaryFolder()
        let test = StageTest(Greeting())
        try folder.write(payload, to: "anna.json")
        try folder.write("recipient: anna\nx: 1\n", to: "anna.headers")
        try folder.write(payload, to: "nobody.json")
        try await expect(
            test.changes(in: folder.path, isUpdate: false).map(\.description),
            is: ["anna", "nobody"].map { "\($0): its .expected file is missing: PUSHMILL_TEST_UPDATE=1 writes it" })
        try await expect(test.changes(in: folder.path, isUpdate: true), is: [])
        try await expect(test.changes(in: folder.path), is: [])

        // With byte order marks and CRLF, as editors of other systems write them.
        try folder.write("\u{FEFF}recipient: bert\r\nx: 1\r\n", to: "anna.headers")
        try folder.write("\u{FEFF}" + payload.replacing(":1", with: ": 1"), to: "nobody.json")
        folder.delete("nobody.expected")
        try folder.write("\u{FEFF}modified: greeting=ok\r\n\(payload)\r\n", to: "nobody.expected")
        try folder.write("passed: \n", to: "gone.expected")
        try await expect(
            test.changes(in: folder.path).map(\.description),
            is: [
                #"anna: ~ /aps/alert/body: "Hello anna" -> "Hello bert""#,
                "nobody: modified: greeting=ok -> modified: greeting=skipped",
                "nobody: the payload differs only in its spelling",
                "gone: its payload is missing",
            ])
    }

    @Test(
        "Golden files are written only if the variable is 1",
        arguments: [("1", true), ("0", false), ("false", false), ("", false)])
    func update(_ value: String, _ isUpdate: Bool) {
        expect(StageTest.isUpdate([StageTest.updateVariable: value]), is: isUpdate)
        #expect(!StageTest.isUpdate([:]))
    }

    @Test("Advancing the clock ends a budget for golden files too", .timeLimit(.minutes(1)))
    func goldenBudget() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path
        try folder.write(payload, to: "late.json")
        let published = payload.replacing(#""?""#, with: #""?","title":"Late""#)
        try folder.write("modified: hanging=expired\n\(published)\n", to: "late.expected")
        let hanging = Hanging()
        let test = StageTest(hanging, budget: .seconds(2))
        async let changes = test.changes(in: path, isUpdate: false)
        await hanging.waitUntilBegun()
        await test.advance(by: .seconds(2))
        try await expect(changes, is: [])
        withExtendedLifetime(folder) {}
    }

    @Test("Golden files cover empty payloads and dropped messages")
    func empty() async throws {
        let folder = try TemporaryFolder()
        let test = try await StageTest(configuration: "{ delivery: { expired: drop }, stages: [badge] }")
        try folder.write("", to: "empty.json")
        try folder.write(payload, to: "expired.json")
        try folder.write("apns-expiration: 1\n", to: "expired.headers")
        try await expect(test.changes(in: folder.path, isUpdate: true), is: [])
        try await expect(test.changes(in: folder.path, isUpdate: false), is: [])
        folder.delete("empty.expected")
        try folder.write("expired: dropped\n", to: "empty.expected")
        try await expect(test.changes(in: folder.path, isUpdate: false).map(\.name), is: ["empty", "empty"])
    }

    @Test("A payload that is not UTF-8 is a dead letter, as in a service")
    func notText() async throws {
        let folder = try TemporaryFolder()
        try folder.write(payload.utf8.map { $0 == UInt8(ascii: "?") ? 0xE9 : $0 }, to: "latin.json")
        try folder.write("?\n", to: "latin.expected")
        let changes = try await StageTest(Greeting()).changes(in: folder.path, isUpdate: false)
        expect(changes.first?.what.hasPrefix("? -> dead-letter: not-json"), is: true)
    }

    @Test("A golden file detects text in another Unicode normalization")
    func composed() async throws {
        let folder = try TemporaryFolder()
        let test = StageTest(Greeting())
        try folder.write("{\"aps\":{\"alert\":\"Zo\u{EB}\"}}", to: "zoe.json")
        try await expect(test.changes(in: folder.path, isUpdate: true), is: [])
        try folder.write("{\"aps\":{\"alert\":\"Zoe\u{308}\"}}", to: "zoe.json")
        try await expect(test.changes(in: folder.path).count, is: 1)
    }
}
