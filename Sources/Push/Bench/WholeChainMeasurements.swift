extension Measurement {
    /// What a message costs that has work for decrypt, localize, contact and badge: alone, and on two threads at once,
    /// of which the slower one counts. The book knows the contact of `WholeChainSample`.
    package static func wholeChain(_ book: any ContactBook, messages: Int = 10_000) async throws -> [Measurement] {
        let sample = try WholeChainSample(book)
        let alone = try await sample.measure("the whole chain, one lane", messages)
        async let other = sample.measure("the whole chain, two lanes", messages)
        let one = try await sample.measure("the whole chain, two lanes", messages)
        let two = try await other
        return [alone, one.nanoseconds > two.nanoseconds ? one : two]
    }
}

package struct WholeChainSample: Sendable {
    /// As the line of a file.
    package static let contact = #"{"owner":"user-48213","id":"c48213","name":"Zoë Martin"}"#

    private let chain: Chain
    private let payload: String

    fileprivate init(_ book: any ContactBook) throws {
        let sample = try DecryptSample()
        var options = ContactStage.Options()
        options.owner = [.key]
        chain = Chain([
            ChainLink(sample.stage), ChainLink(try LocalizeSample.stage()),
            ChainLink(ContactStage(options, book: book, texts: SharedTexts())), ChainLink(BadgeStage(mode: .increment)),
        ])
        payload = try sample.payload(.jwe, "k1", title: "GROUP")
    }

    fileprivate func measure(_ name: String, _ messages: Int) async throws -> Measurement {
        let turn = ChainTurn(chain, payload: payload, host: SameCount())
        await turn.run()
        if let other = turn.results.first(where: { $0 != .ok }) { throw UnexpectedResult(result: other) }
        return await Measurement(name, messages: messages) { await turn.run() }
    }
}

/// Everyone has the same count, always.
private final class SameCount: DeliveryHost {
    func count(_ delivery: Delivery) -> Int32? { 41 }
    func willWait(_ delivery: Delivery) {}
}
