import Synchronization
import TestSupport
import Testing

@testable import Push

/// Holds the chain against the one that lanes run, for as long as there are both.
@Suite("The chain as it was")
struct OldChainTests {
    private func compare(_ make: (ManualTime) throws -> [ChainLink], payloads: [String]) async throws {
        let time = ManualTime()
        let (links, observer) = (try make(time), RecordingObserver())
        let chain = Chain(links, time: .manual(time), observer: observer)
        let oldObserver = RecordingObserver()
        let oldChain = Chain(links, time: .manual(time), observer: oldObserver)
        // Deliveries do not hold theirs.
        let host = TestHost(count: 3)
        let (delivery, old) = (Delivery(), Delivery(host: host))
        var mutations = RecordMutations(generator: SeededGenerator(seed: 20_271), payloads: payloads)
        _ = try await mutations.run { message, wait in
            let step = message.begin(chain, delivery, count: 3, after: wait)
            let published = Published(try #require(await chain.finish(step, delivery)), delivery)
            let former = try #require(await message.publish(oldChain, old, after: wait))
            #expect(published.stages == former.stages)
            let isSame = published == former && delivery.results == old.results
            #expect(isSame)
            return published
        }
        withExtendedLifetime(host) {}
        let isSame = observer.events == oldObserver.events
        #expect(isSame)
    }

    @Test("Mutated records come to the same end, with the same said of their stages")
    func scripted() async throws {
        try await compare(
            { time in
                let slow = ScriptedStage(
                    "slow", isImmediate: true,
                    receive: { content, context in
                        if content.body?.utf8.count ?? 0 > 6 { throw StageFailure("long") }
                        content.title = String(repeating: content.body ?? "é", count: 300)
                        return .ok
                    },
                    expire: { content, _ in
                        content.body = nil
                        return .expired
                    })
                let failing = ScriptedStage("f") { content, _ in
                    content.body = "half-done"
                    guard content.badge == 1 else { throw StageFailure("no-luck") }
                    return .ok
                }
                return [
                    ChainLink(ScriptedStage.marking("a", isImmediate: false)), ChainLink(slow), ChainLink(failing),
                    ChainLink(ScriptedCounter()),
                    ChainLink(ScriptedStage.marking("b"), condition: StageCondition(categories: ["A"])),
                ]
            }, payloads: Self.payloads)
    }

    @Test("So they do with the product's own stages")
    func product() async throws {
        let catalog = try CatalogFixture(["en.lproj/Localizable.strings": #"IN = "%1$@ in %2$@"; NEWS = "News";"#])
        let ring = DecryptKeys.ring
        var options = DecryptOptions()
        options.fields = [.init(), .init(from: JSONPointer(member: "sealed"), to: .merge)]
        let keys = try ReloadableFile(path: "keys") { _, _ in ring }
        var iterated = DecryptOptions()
        iterated.fields = [.init(from: JSONPointer(member: "salted"))]
        iterated.derivation = .iterated(10)
        let media = AttachmentStage.Options(
            MediaMembers(url: JSONPointer(member: "media-url")), publicBase: "https://media.example.com/")
        let sealed = try ["k1", "k2"].compactMap { name in
            try DecryptKeys.form(of: name).map { try DecryptKeys.seal("Hi {contact:c1}", $0, name) }
        }
        try await compare(
            { _ in
                [
                    ChainLink(DecryptStage(options, keys: keys)), ChainLink(DecryptStage(iterated, keys: keys)),
                    ChainLink(try catalog.stage()),
                    ChainLink(ContactStage(.init(), book: ListedContacts.sample, texts: SharedTexts())),
                    ChainLink(BadgeStage(mode: .increment)),
                    ChainLink(AttachmentStage(media, source: ListedMedia(), texts: SharedTexts())),
                ]
            },
            payloads: Self.payloads + [
                #"{"aps":{"alert":{"title-loc-key":"IN","title-loc-args":["{contact:c1}","x"],"body":"b"},"mutable-content":1,"badge":1},"media-url":"https://cdn/a"}"#,
                #"{"aps":{"alert":"{contact:c2} {contact:c9}","mutable-content":1,"badge":2},"media-url":"x"}"#,
            ] + sealed.map { #"{"ENCRYPTED_DATA":"\#($0)","aps":{"alert":{"body":"?"},"mutable-content":1}}"# })
    }

    private static let payloads = [
        #"{"aps":{"alert":{"title":"T","body":"Hello"},"mutable-content":1,"badge":1,"category":"A"},"x":[1e2,{"y":"\ud83d"}]}"#,
        #"{"aps":{"alert":"Hello","mutable-content":1.0,"badge":-0},"aps":{"alert":"Again","mutable-content":1}}"#,
        #"{"aps":{"alert":{"loc-key":"NEWS","loc-args":["a",1]},"mutable-content":1}}"#, #"{"aps":{"badge":0}}"#,
        #"{"specversion":"1.0","id":"e","data":{"aps":{"alert":"Hi","mutable-content":1}},"datacontenttype":"a/b"}"#,
        #"{"id":"e","data_base64":"eyJhcHMiOnsiYWxlcnQiOiJIaSIsIm11dGFibGUtY29udGVudCI6MX19"}"#,
    ]
}

extension Message {
    fileprivate func publish(_ chain: Chain, _ delivery: Delivery, after wait: Duration) async -> Published? {
        delivery.clear()
        let taken = chain.time.now
        delivery.record.fill(envelope, topic: SourceTopic(envelope.topic))
        switch chain.begin(delivery, taken: taken, now: taken + wait, wallClock: envelope.timestamp) {
        case .ended(let verdict): return Published(verdict, delivery)
        case .notYet: return nil
        case .run: return await chain.run(delivery).map { Published($0, delivery) }
        }
    }
}

/// A lane that does nothing of its own: it has a count for everybody.
private final class TestHost: DeliveryHost {
    private let count: Int32

    init(count: Int32) { self.count = count }

    func count(_ delivery: Delivery) -> Int32? { count }

    func willWait(_ delivery: Delivery) {}
}
