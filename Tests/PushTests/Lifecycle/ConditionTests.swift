import PushmillPayload
import PushmillTestSupport
import Testing

@testable import PushmillStages

@Suite("A stage's condition")
struct ConditionTests {
    private let payload = #"{"aps":{"alert":"Hi","mutable-content":1,"category":"CHAT"},"media":{"url":null}}"#

    private func condition(_ settings: KeyValuePairs<String, [String]>) -> StageCondition {
        let place = Place.file("test", line: 1, column: 1)
        let members = settings.map { key, values in
            let items = values.map { Setting(place: place, value: .scalar($0)) }
            let value = key == "has" ? items[0].value : .list(items)
            return Setting.Member(key: key, place: place, value: Setting(place: place, value: value))
        }
        var reader = SettingReader(Setting(place: place, value: .map(members)), folder: "/")
        return StageCondition(from: &reader)
    }

    @Test(
        "A stage runs only if all of its condition holds",
        arguments: [
            ([:], true),
            (["category": ["CALL", "CHAT"]], true),
            (["category": ["CALL"]], false),
            (["apns-topic": ["com.x"]], true),
            (["apns-topic": ["com.x.voip"]], false),
            (["push-type": ["alert", "voip"]], true),
            (["push-type": ["voip"]], false),
            (["has": ["/media/url"]], true),
            (["has": ["/media/id"]], false),
            (["category": ["CHAT"], "has": ["/media"], "apns-topic": ["com.x"]], true),
            (["category": ["CHAT"], "has": ["/nothing"]], false),
        ] as [(KeyValuePairs<String, [String]>, Bool)])
    func table(_ settings: KeyValuePairs<String, [String]>, _ runs: Bool) async {
        let chain = Chain([ChainLink(ScriptedStage.marking("a"), condition: condition(settings))])
        let message = Message(payload, ["apns-topic": "com.x", "apns-push-type": "alert"])
        await expect(message.publish(chain)?.stages, is: (runs ? "a=ok" : "a=skipped"))
    }

    @Test("A condition sees earlier stages' edits, and applies at the last chance too")
    func inOrder() async {
        let adding = ScriptedStage(
            "add", isImmediate: true,
            receive: { content, _ in
                content.category = "ADDED"
                return .ok
            },
            expire: { content, _ in
                content.category = "LATE"
                return .expired
            })
        let chain = Chain([
            ChainLink(adding),
            ChainLink(ScriptedStage.marking("a"), condition: condition(["category": ["ADDED"]])),
            ChainLink(ScriptedStage.marking("b"), condition: condition(["category": ["LATE"]])),
        ])
        await expect(Message(payload).publish(chain)?.stages, is: "add=ok,a=ok,b=skipped")
        let late = await Message(payload).publish(chain, after: .seconds(30))
        expect(late?.stages, is: "add=expired,a=skipped,b=expired")
    }

    @Test(
        "A badge stage's condition also applies to clearing pushes",
        arguments: [(["apns-topic": ["com.x"]], true), (["apns-topic": ["com.y"]], false), (["has": ["/x"]], false)]
            as [(KeyValuePairs<String, [String]>, Bool)])
    func clearing(_ settings: KeyValuePairs<String, [String]>, _ resets: Bool) async {
        let clearing = #"{"aps":{"badge":0}}"#
        let chain = Chain([ChainLink(BadgeStage(mode: .increment), condition: condition(settings))])
        let published = await Message(clearing, ["apns-topic": "com.x"]).publish(chain, count: 5)
        expect(published?.outcome, is: .passed)
        expect(published?.value, is: clearing)
        expect(published?.stages, is: (resets ? "badge=ok" : "badge=skipped"))
        expect(published?.badgeOperation, is: (resets ? .set(0) : nil))
    }

    @Test(
        "A message without the header or category does not meet the condition", arguments: ["apns-topic", "push-type"])
    func absent(_ key: String) async {
        let chain = Chain([
            ChainLink(
                ScriptedStage.marking("a"),
                condition: condition(key == "push-type" ? ["push-type": ["alert"]] : ["apns-topic": ["com.x"]])),
            ChainLink(ScriptedStage.marking("b"), condition: condition(["category": ["CHAT"]])),
        ])
        await expect(Message().publish(chain)?.stages, is: "a=skipped,b=skipped")
    }
}
