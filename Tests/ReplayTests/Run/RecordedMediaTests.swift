import PushmillPayload
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillReplay

@Suite("Media in replays")
struct RecordedMediaTests {
    private let name = String(repeating: "0123456789abcdef", count: 4) + ".png"

    private func scene(base: String = "https://m/", note: String = "📷", recorded: RecordedOutputs?) -> Scene {
        var members = MediaMembers(url: JSONPointer(member: "media-url"))
        members.type = JSONPointer(member: "type")
        members.size = JSONPointer(member: "size")
        let source: any MediaSource = recorded?.media(MediaSettings(members, folder: "", hosts: [])) ?? Listed(name)
        var scene = Scene()
        scene.more = [AttachmentStage(members, publicBase: base, note: note, source: source)]
        if let recorded { scene.recorded = recorded }
        return scene
    }

    /// The media that a service would have found.
    private final class Listed: MediaSource {
        let name: String

        init(_ name: String) { self.name = name }

        func known(at url: String, for context: StageContext) -> Media? { nil }

        func media(at url: String, for context: StageContext) throws(MediaFailure) -> Media? {
            switch url {
            case "picture": Media(name: name, size: 7)
            case "nothing": throw .status
            case "late": throw .abandoned
            default: nil
            }
        }
    }

    private let events = ["picture", "nothing", "late", "elsewhere", "picture"].enumerated().map { index, url in
        RecordEnvelope(
            #"{"aps":{"alert":"Hi","mutable-content":1},"media-url":"\#(url)"}"#, key: "k\(index)", offset: Int64(index)
        )
    }

    @Test("A replay attaches and fails as the baseline did, and fetches nothing")
    func same() async throws {
        let golden = try await scene(recorded: nil).outputs(events)
        #expect(golden[0].payloadText.contains("https://m/\(name)\",\"type\":\"image/png\",\"size\":7"))
        #expect(golden[1].payloadText.contains("Hi 📷"))
        let found = try await scene(recorded: RecordedOutputs()).replay(events, against: golden)
        #expect(found.summary.isSame)
        expect(found.summary.records, is: 5)
    }

    @Test("A payload that had no room for its media has none again")
    func noRoom() async throws {
        let filler = String(repeating: "x", count: 3950)
        let event = RecordEnvelope(
            #"{"aps":{"alert":"Hi","mutable-content":1},"media-url":"picture","filler":"\#(filler)"}"#, key: "k",
            offset: 0)
        let golden = try await scene(recorded: nil).outputs([event])
        expect(golden.map { $0.text("pushmill-outcome") }, is: ["original"])
        expect(golden[0].text("pushmill-stages")?.hasSuffix("attachment=ok"), is: true)
        #expect(try await scene(recorded: RecordedOutputs()).replay([event], against: golden).summary.isSame)
    }

    @Test("A changed base or note shows as differences in attached and failed media")
    func changed() async throws {
        let golden = try await scene(recorded: nil).outputs(events)
        let found = try await scene(base: "https://n/", note: "[photo]", recorded: RecordedOutputs()).replay(
            events, against: golden)
        expect(found.fields, is: ["/aps/alert 2", "/media-url 2"])
    }

    @Test("A payload without a baseline stays unchanged and counts as unfetched")
    func unrecorded() async throws {
        let outputs = try await scene(recorded: RecordedOutputs()).outputs(events)
        expect(outputs.map(\.payloadText), is: events.map(\.payloadText))
        #expect(outputs.allSatisfy { $0.text("pushmill-stages")?.hasSuffix("attachment=unfetched") == true })
    }
}
