import FoundationEssentials
import PushmillTestSupport
import Testing

@testable import PushmillPayload
@testable import PushmillStages

/// Mutated inputs, as many as `PUSHMILL_MUTATIONS` asks for. Most useful under the address sanitizer.
enum Mutations {
    static let count = Int(ProcessInfo.processInfo.environment["PUSHMILL_MUTATIONS"] ?? "") ?? 10_000
}

/// Records with mutated payloads and headers, and what must hold for each after it has gone through a chain.
struct RecordMutations {
    var generator: SeededGenerator
    let payloads: [String]

    private static let headers = [
        ("content-type", "application/cloudevents+json"), ("apns-expiration", "1699999999"), ("apns-push-type", "voip"),
        ("apns-collapse-id", String(repeating: "c", count: 70)), ("apns-id", ""), ("pushmill-outcome", "x"),
        ("pushmill-attempt", "9223372036854775807"), ("locale", "de"), ("apns-topic", "com.x"), ("recipient", "boris"),
    ]

    /// How many mutants had each outcome.
    mutating func run(through chain: Chain) async throws -> [Outcome: Int] {
        let delivery = Delivery()
        return try await run { message, wait in
            let step = message.begin(chain, delivery, count: 3, after: wait)
            let verdict = await chain.finish(step, delivery)
            return Published(try #require(verdict), delivery)
        }
    }

    /// How many mutants had each outcome when they went, each with its wait, through the body.
    mutating func run(_ body: (Message, Duration) async throws -> Published) async throws -> [Outcome: Int] {
        var outcomes: [Outcome: Int] = [:]
        for _ in 0..<Mutations.count {
            let message = next()
            let published = try await body(message, generator.chance(10) ? .seconds(30) : .zero)
            outcomes[published.outcome, default: 0] += 1
            try Self.check(published, message)
        }
        return outcomes
    }

    private mutating func next() -> Message {
        var message = Message(nil, key: generator.chance(90) ? "anna" : nil)
        var payload = Array(generator.pick(payloads).utf8)
        if generator.chance(70) { generator.mutate(&payload) }
        message.envelope.payload = generator.chance(2) ? nil : payload
        for (name, value) in Self.headers where generator.chance(20) {
            var value = Array(value.utf8)
            var name = Array(name.utf8)
            if generator.chance(20) { generator.mutate(&value) }
            if generator.chance(5) { generator.mutate(&name) }
            message.envelope.headers.append(RecordEnvelope.Header(name: name, value: generator.chance(5) ? nil : value))
        }
        return message
    }

    private static func check(_ published: Published, _ message: Message) throws {
        var line: [UInt8] = []
        published.envelope.append(to: &line)
        try expect(RecordEnvelope(line: line), is: published.envelope)
        expect(published["pushmill-outcome"], is: "\(published.outcome.name)")
        guard published.outcome != .deadLetter else {
            expect(published.envelope.payload, is: message.envelope.payload)
            return
        }
        var content = NotificationContent()
        try published.envelope.payload?.withUnsafeBytes { try content.read($0) }
        #expect(content.renderedByteCount <= 5120)
        if published.outcome == .modified || published.outcome == .bestAttempt { #expect(content.hasAlertText) }
    }
}
