import PushmillTestSupport
import Synchronization
import Testing

@testable import PushmillPayload
@testable import PushmillStages

@Suite("The attachment stage")
struct AttachmentStageTests {
    private func stage(
        _ source: any MediaSource = ListedMedia(), note: String = AttachmentStage.usualNote,
        _ change: (inout MediaMembers) -> Void = { _ in }
    ) -> AttachmentStage {
        var members = MediaMembers(url: JSONPointer(member: "media-url"))
        change(&members)
        return AttachmentStage(members, publicBase: "https://media.example.com/", note: note, source: source)
    }

    private func publish(
        _ payload: String, _ stage: AttachmentStage? = nil, after earlier: [any Stage] = []
    ) async throws -> Published {
        let chain = Chain((earlier + [stage ?? self.stage()]).map { ChainLink($0) })
        return try #require(await Message(payload).publish(chain))
    }

    private func payload(_ url: String, alert: String = #"{"body":"Hi"}"#, _ rest: String = "") -> String {
        #"{"aps":{"alert":\#(alert),"mutable-content":1},"media-url":\#(url)\#(rest)}"#
    }

    @Test("The URL is replaced by that of the kept media, and nothing else changes")
    func attached() async throws {
        let published = try await publish(payload(#""https:\/\/cdn/a""#))
        expect(published.value, is: payload("\"https://media.example.com/\(ListedMedia.hash).jpg\""))
        expect(published.stages, is: "attachment=ok")
        expect(published.outcome, is: .modified)
    }

    @Test("The media's type and size are written to the configured members")
    func members() async throws {
        let stage = stage {
            $0.type = JSONPointer("/attachment-type")
            $0.size = JSONPointer("/media/size")
        }
        let published = try await publish(payload(#""https://cdn/a""#), stage)
        let url = "\"https://media.example.com/\(ListedMedia.hash).jpg\""
        expect(published.value, is: payload(url, #","attachment-type":"image/jpeg","media":{"size":1234}"#))
    }

    @Test(
        "A message without a URL is skipped",
        arguments: [
            #"{"aps":{"alert":"Hi","mutable-content":1}}"#,
            #"{"aps":{"alert":"Hi","mutable-content":1},"media-url":null}"#,
            #"{"aps":{"alert":"Hi","mutable-content":1},"media-url":""}"#,
        ])
    func none(_ payload: String) async throws {
        let published = try await publish(payload)
        expect(published.value, is: payload)
        expect(published.stages, is: "attachment=skipped")
        let chain = Chain([ChainLink(stage())])
        let late = await Message(payload).publish(chain, after: .seconds(60))
        expect(late?.value, is: payload)
        expect(late?.stages, is: "attachment=skipped")
    }

    @Test("If there is no media, the URL stays and the text gets a note", arguments: MediaFailure.allCases)
    func failed(_ failure: MediaFailure) async throws {
        let published = try await publish(payload(#""u""#), stage(ListedMedia(["u": .failure(failure)])))
        expect(published.value, is: payload(#""u""#, alert: #"{"body":"Hi 📷"}"#))
        expect(published.stages, is: "attachment=failed:\(failure.reason)")
        expect(published.outcome, is: .modified)
    }

    @Test("A URL that is not a string fails")
    func malformed() async throws {
        try await expect(publish(payload("7")).stages, is: "attachment=failed:url")
    }

    @Test("If media is not fetched, nothing changes")
    func unfetched() async throws {
        let published = try await publish(payload(#""u""#), stage(ListedMedia(["u": .success(nil)])))
        expect(published.value, is: payload(#""u""#))
        expect(published.stages, is: "attachment=unfetched")
    }

    @Test(
        "The note is appended to a shown text and never replaces a localization key",
        arguments: [
            (#""Hi""#, #""Hi 📷""#),
            (#"{"title":"T","body":"B"}"#, #"{"title":"T","body":"B 📷"}"#),
            (#"{"title":"T","subtitle":"S"}"#, #"{"title":"T","subtitle":"S 📷"}"#),
            (#"{"title":"T","body":""}"#, #"{"title":"T 📷","body":""}"#),
            (#"{"title":"T","loc-key":"K"}"#, #"{"title":"T 📷","loc-key":"K"}"#),
            (#"{"title":"T","body":"B","loc-key":"K"}"#, #"{"title":"T 📷","body":"B","loc-key":"K"}"#),
            (#"{"loc-key":"K"}"#, #"{"loc-key":"K"}"#),
        ])
    func places(_ alert: String, _ noted: String) async throws {
        try await expect(publish(payload(#""u""#, alert: alert)).value, is: payload(#""u""#, alert: noted))
    }

    @Test("A note that is a key of the catalog is localized")
    func translated() async throws {
        let catalog = try CatalogFixture(["en.lproj/Localizable.strings": #""PHOTO" = "(Foto)";"#])
        let localize = try catalog.stage()
        let published = try await publish(payload(#""u""#), stage(note: "PHOTO"), after: [localize])
        expect(published.value, is: payload(#""u""#, alert: #"{"body":"Hi (Foto)"}"#))
        let plain = try await publish(payload(#""u""#), stage(note: "[photo]"), after: [localize])
        expect(plain.value, is: payload(#""u""#, alert: #"{"body":"Hi [photo]"}"#))
        try await expect(publish(payload(#""u""#), stage(note: "")).value, is: payload(#""u""#))
    }

    @Test("At the last chance, only messages with a URL get the note")
    func expired() async throws {
        let chain = Chain([ChainLink(stage())])
        let late = try #require(await Message(payload(#""https://cdn/a""#)).publish(chain, after: .seconds(60)))
        expect(late.outcome, is: .bestAttempt)
        expect(late.stages, is: "attachment=expired")
        expect(late.value, is: payload(#""https://cdn/a""#, alert: #"{"body":"Hi 📷"}"#))
        let other = try #require(await Message().publish(chain, after: .seconds(60)))
        expect(other.stages, is: "attachment=skipped")
        expect(other.value, is: Message.text)
    }

    @Test("A fetch ends at the stage's budget or the deadline", arguments: [nil, Duration.seconds(7), .seconds(70)])
    func limit(_ budget: Duration?) async throws {
        let media = ListedMedia()
        var settings = Chain.Settings()
        settings.deadline = .seconds(20)
        let stage = stage(media)
        let chain = Chain(
            [ChainLink(stage, budget: budget)], settings: settings,
            time: .manual(ManualTime(Instant(nanoseconds: 1_000_000_000))))
        _ = await Message(payload(#""https://cdn/a""#)).publish(chain)
        expect(
            media.limits.withLock { $0 },
            is: [
                Instant(nanoseconds: budget == .seconds(7) ? 8_000_000_000 : 21_000_000_000)
            ])
    }

    @Test("Known media and known failures are used at once, without waiting")
    func known() throws {
        let url = "https://cdn/a"
        let kept = "\"https://media.example.com/\(ListedMedia.hash).jpg\""
        for (result, value, stages) in [
            (.success(ListedMedia.picture), payload(kept), "attachment=ok"),
            (.failure(.status), payload("\"\(url)\"", alert: #"{"body":"Hi 📷"}"#), "attachment=failed:status"),
            (.success(nil), nil, nil),
        ] as [(Result<Media?, MediaFailure>, String?, String?)] {
            let source = KnownMedia(result: result)
            let chain = Chain([ChainLink(stage(source))])
            let delivery = Delivery()
            let step = Message(payload("\"\(url)\"")).begin(chain, delivery)
            let published = step.verdict.map { Published($0, delivery) }
            #expect(published?.value == value && published?.stages == stages)
            expect((step.work == nil), is: (value != nil))
        }
    }

    /// The test never waits for it.
    private final class KnownMedia: MediaSource {
        private let result: Result<Media?, MediaFailure>

        init(result: Result<Media?, MediaFailure>) { self.result = result }

        func known(at url: String, for context: StageContext) throws(MediaFailure) -> Media? {
            expect(url, is: "https://cdn/a")
            return try result.get()
        }

        func media(at url: String, for context: StageContext) async throws(MediaFailure) -> Media? { nil }
    }
}
