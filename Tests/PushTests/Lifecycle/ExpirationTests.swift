import PushmillPayload
import PushmillTestSupport
import Testing

@testable import PushmillStages

@Suite("Expiration")
struct ExpirationTests {
    private let payload = #"{"aps":{"alert":"Hi","mutable-content":1,"badge":2}}"#
    private let links = [ChainLink(ScriptedStage.marking("a")), ChainLink(ScriptedCounter())]

    @Test(
        "A message expires when its seconds since 1970 have passed; 0 and unreadable values never expire",
        arguments: [
            ("1699999999", Outcome.expired), ("1700000000", .expired), ("1700000001", .modified), ("0", .modified),
            ("", .modified), ("soon", .modified), ("-1", .modified), ("1e3", .modified), (" 1", .modified),
            ("99999999999999999999", .modified), ("9223372036854775807", .modified), ("1", .expired),
            ("1:", .modified),
        ])
    func table(_ expiration: String, _ outcome: Outcome) async {
        let message = Message(payload, ["apns-expiration": expiration])
        await expect(message.publish(Chain(links))?.outcome, is: outcome)
    }

    @Test("An expired message is published with its badge counted and set, otherwise as it came")
    func published() async {
        let published = await Message(payload, ["apns-expiration": "1"]).publish(Chain(links), count: 5)
        expect(published?.destination, is: .output)
        expect(published?.value, is: payload.replacing("2", with: "7"))
        expect(published?.stages, is: "a=skipped,badge=ok")
        expect(published?.badgeOperation, is: .add(2))
    }

    @Test("An expired message to which the chain does not apply keeps its badge as it came")
    func notGatedIn() async {
        let silent = #"{"aps":{"badge":2}}"#
        let published = await Message(silent, ["apns-expiration": "1"]).publish(Chain(links), count: 5)
        expect(published?.outcome, is: .expired)
        expect(published?.value, is: silent)
        #expect(published?.badgeOperation == nil)
    }

    @Test(
        "An expired clearing push resets the count if it is published, but not if it is dropped",
        arguments: [true, false])
    func clearing(_ isPublished: Bool) async {
        var settings = Chain.Settings()
        settings.publishesExpired = isPublished
        let clearing = #"{"aps":{"badge":0}}"#
        let message = Message(clearing, ["apns-expiration": "1"])
        let published = await message.publish(Chain(links, settings: settings), count: 5)
        expect(published?.outcome, is: .expired)
        expect(published?.destination, is: (isPublished ? .output : .nowhere))
        expect(published?.badgeOperation, is: (isPublished ? .set(0) : nil))
        guard isPublished else { return }
        expect(published?.value, is: clearing)
        expect(published?.stages, is: "a=skipped,badge=ok")
    }

    @Test("An expired message may be dropped, and is then not counted")
    func dropped() async {
        var settings = Chain.Settings()
        settings.publishesExpired = false
        let chain = Chain(links, settings: settings)
        let published = await Message(payload, ["apns-expiration": "1"]).publish(chain, count: 5)
        expect(published?.outcome, is: .expired)
        expect(published?.destination, is: .nowhere)
        #expect(published?.badgeOperation == nil)
    }
}
