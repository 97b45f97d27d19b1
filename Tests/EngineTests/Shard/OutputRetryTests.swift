import PushmillKafka
import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillEngine

@Suite("Outputs that are sent again")
struct OutputRetryTests {
    private typealias Retry = OutputRetry<String>

    private let now = Instant.past + .seconds(1)

    /// Sends every output that may be sent by then, and returns them in order.
    private func sendAll(_ retry: inout Retry, _ now: Instant) -> [String] {
        var sent: [String] = []
        while let next = retry.next(now: now) {
            sent.append(next.output)
            retry.sent()
        }
        return sent
    }

    @Test("While all outputs are acknowledged nothing is held")
    func acknowledged() {
        var retry = Retry()
        retry.published()
        retry.published()
        let answers = [retry.answered(1, nil, nil, sequence: 1), retry.answered(2, nil, nil, sequence: 2)]
        expect(answers, is: [.done, .done])
        #expect(retry.isIdle)
        expect(retry.outstanding, is: 0)
    }

    @Test("Returned outputs are sent again in order once all are answered, held ones after them")
    func again() {
        var retry = Retry()
        for _ in 1...3 { retry.published() }
        // The second is reported before the first.
        expect(retry.answered(2, .unavailable(reason: ""), "two", sequence: 2), is: .again)
        #expect(!retry.isIdle)
        retry.hold("four", tag: 4, now: now)
        #expect(retry.next(now: now) == nil)
        expect(retry.answered(1, .purged, "one", sequence: 1), is: .again)
        #expect(!retry.isCollected)
        expect(retry.answered(3, nil, nil, sequence: 3), is: .done)
        #expect(retry.isCollected)
        retry.collected(now: now)
        // The topic was unavailable.
        #expect(retry.next(now: now) == nil)
        let later = now + .milliseconds(100)
        expect(retry.resendsAt, is: later)
        expect(sendAll(&retry, later), is: ["one", "two", "four"])
        #expect(retry.isIdle)
        expect(retry.outstanding, is: 3)
    }

    @Test("Outputs of a refused batch are sent alone, and only the poison record fails")
    func suspects() {
        var retry = Retry()
        for _ in 1...3 { retry.published() }
        for tag in UInt64(1)...3 {
            expect(retry.answered(tag, .refused(reason: "bad"), "\(tag)", sequence: tag), is: .again)
        }
        retry.collected(now: now)
        expect(sendAll(&retry, now), is: ["1"])
        expect(retry.state, is: .alone(tag: 1))
        expect(retry.answered(1, nil, nil, sequence: 4), is: .done)
        expect(sendAll(&retry, now), is: ["2"])
        expect(retry.answered(2, .refused(reason: "bad"), "2", sequence: 5), is: .poison)
        retry.collected(now: now)
        expect(sendAll(&retry, now), is: ["3"])
        expect(retry.answered(3, nil, nil, sequence: 6), is: .done)
        #expect(retry.isIdle)
        #expect(retry.next(now: now) == nil)
    }

    @Test("A suspect waits for outputs that were sent before it")
    func aloneOnly() {
        var retry = Retry()
        retry.hold("good", tag: 1, now: now)
        retry.hold("suspect", tag: 2, isSuspect: true, now: now)
        expect(sendAll(&retry, now), is: ["good"])
        expect(retry.answered(1, nil, nil, sequence: 1), is: .done)
        expect(sendAll(&retry, now), is: ["suspect"])
    }

    @Test(
        "A suspect that does not arrive remains a suspect",
        arguments: [.purged, .unavailable(reason: "")] as [OutputReport<String>.Failure])
    func lostAlone(failure: OutputReport<String>.Failure) {
        var retry = Retry()
        retry.hold("suspect", tag: 1, isSuspect: true, now: now)
        expect(sendAll(&retry, now), is: ["suspect"])
        expect(retry.answered(1, failure, "suspect", sequence: 1), is: .again)
        retry.collected(now: now)
        expect(retry.next(now: now + .milliseconds(100))?.isSuspect, is: true)
    }

    @Test("Only outputs that an unavailable topic returned wait before they are sent again")
    func pause() {
        var retry = Retry()
        retry.published()
        _ = retry.answered(1, .unavailable(reason: ""), "one", sequence: 1)
        retry.collected(now: now)
        expect(retry.resendsAt, is: now + .milliseconds(100))
        expect(sendAll(&retry, now + .milliseconds(100)), is: ["one"])
        _ = retry.answered(1, .purged, "one", sequence: 2)
        retry.collected(now: now + .milliseconds(100))
        expect(retry.resendsAt, is: now + .milliseconds(100))
    }

    @Test("An output that is not taken stays next, and a skipped one is dropped")
    func notTaken() {
        var retry = Retry()
        retry.hold("one", tag: 1, now: now)
        retry.hold("two", tag: 2, now: now)
        retry.stays(until: now + .seconds(1))
        #expect(retry.next(now: now) == nil)
        expect(retry.next(now: now + .seconds(1))?.output, is: "one")
        retry.skipped()
        expect(sendAll(&retry, now + .seconds(1)), is: ["two"])
        #expect(retry.isIdle)
    }

    @Test("Held outputs keep their order, however many they are")
    func long() {
        var retry = Retry()
        let all = (1...500).map { "\($0)" }
        for (index, output) in all.enumerated() {
            retry.hold(output, tag: UInt64(index + 1), now: now)
        }
        expect(sendAll(&retry, now), is: all)
    }

    private final class Bytes: Sendable {}

    @Test("An output that was sent is not retained")
    func sentBytes() {
        var retry = OutputRetry<Bytes>()
        weak var bytes: Bytes?
        do {
            let output = Bytes()
            bytes = output
            retry.hold(output, tag: 1, now: now)
        }
        #expect(bytes != nil)
        retry.sent()
        #expect(bytes == nil)
        #expect(retry.isIdle)
    }
}
