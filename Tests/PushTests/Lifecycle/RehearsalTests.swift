import PushmillTestSupport
import Testing

@testable import PushmillPayload
@testable import PushmillStages

@Suite("Messages that go through a chain without a shard")
struct RehearsalTests {
    private let payload = #"{"aps":{"alert":"Hi","mutable-content":1,"badge":2}}"#

    @Test("A message's badge count is there for the next message of the same recipient and app")
    func counts() async {
        let rehearsal = Rehearsal(
            Chain([ChainLink(BadgeStage(mode: .increment))]),
            counts: BadgeCounts { $0.recipient?.hasBytes("bert") == true ? 10 : 0 })
        func badge(_ key: String?, app: String = "a", _ payload: String? = nil, wallClock: Int64 = 0) async -> String {
            let message = Message(payload ?? self.payload, ["apns-topic": app], key: key)
            let result = await rehearsal.run(message.envelope, wallClock: wallClock)
            return result.output.payload.map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
        func shown(_ count: Int) -> String { payload.replacing(#""badge":2"#, with: #""badge":\#(count)"#) }
        await expect(badge("anna"), is: shown(2))
        await expect(badge("anna"), is: shown(4))
        await expect(badge("anna", app: "b"), is: shown(2))
        await expect(badge("bert"), is: shown(12))
        await expect(badge("bert"), is: shown(14))
        await expect(badge(nil), is: payload)
        await expect(badge("anna", #"{"aps":{"badge":0}}"#), is: #"{"aps":{"badge":0}}"#)
        await expect(badge("anna"), is: shown(2))
    }

    @Test("A message that is not published is not counted")
    func unpublished() async {
        var settings = Chain.Settings()
        settings.publishesExpired = false
        let chain = Chain([ChainLink(BadgeStage(mode: .increment))], settings: settings)
        let rehearsal = Rehearsal(chain)
        let expired = Message(payload, ["apns-expiration": "1"]).envelope
        await expect(rehearsal.run(expired, wallClock: 1000).verdict.destination, is: .nowhere)
        let result = await rehearsal.run(Message(payload).envelope, wallClock: 1000)
        expect(result.output.payload.map { String(decoding: $0, as: UTF8.self) }, is: payload)
        expect(result.stages, is: [.ok])
        await expect(rehearsal.run(expired, wallClock: 999).verdict.outcome, is: .modified)
    }

    @Test("A rehearsal waits for stages and returns the result under the input's coordinates")
    func waits() async {
        let waiting = ScriptedStage("w") { content, _ in
            await Task.yield()
            content.body = "waited"
            return .word("late")
        }
        let rehearsal = Rehearsal(Chain([ChainLink(waiting), ChainLink(ScriptedStage.marking("a"))]))
        let result = await rehearsal.run(Message().envelope, wallClock: 0)
        expect(result.verdict, is: Verdict(.modified))
        expect(result.stages, is: [.word("late"), .ok])
        expect(result.output.payload, is: Array(Message.text.replacing("Hello", with: "waiteda").utf8))
        #expect(result.output.topic == "push.events" && result.output.partition == 3 && result.output.offset == 42)
    }

    @Test("A stage that does not end expires by the system's clock", .timeLimit(.minutes(1)))
    func deadline() async {
        let release = Gate()
        let hanging = ScriptedStage("h") { _, _ in
            await release.wait()
            return .ok
        }
        var settings = Chain.Settings()
        settings.deadline = .milliseconds(5)
        let rehearsal = Rehearsal(Chain([ChainLink(hanging)], settings: settings))
        let result = await rehearsal.run(Message().envelope, wallClock: 0)
        #expect(result.verdict == Verdict(.bestAttempt) && result.stages == [.expired])
        release.open()
    }

    @Test("Advancing a manual clock brings the deadline; a message taken too long ago is late at once")
    func manual() async {
        let time = ManualTime(Instant(nanoseconds: 100_000_000_000))
        let (began, release) = (Gate(), Gate())
        let hanging = ScriptedStage("h") { _, _ in
            began.open()
            await release.wait()
            return .ok
        }
        let rehearsal = Rehearsal(Chain([ChainLink(hanging)], time: .manual(time)))
        async let result = rehearsal.run(Message().envelope, wallClock: 0)
        await began.wait()
        await rehearsal.wake()
        time.advance(by: .seconds(30))
        await rehearsal.wake()
        await expect(result.verdict, is: Verdict(.bestAttempt))
        release.open()
        let late = await rehearsal.run(
            Message().envelope, wallClock: 0, taken: Instant(nanoseconds: 100_000_000_000))
        #expect(late.verdict == Verdict(.bestAttempt) && late.stages == [.expired])
    }
}
