extension Measurement {
    /// What a message costs that has work for decrypt, localize, contact and badge: alone, and on two threads at once,
    /// of which the slower one counts. The book knows the contact of `WholeChainSample`.
    package static func wholeChain(_ book: any ContactBook, messages: Int = 10_000) async throws -> [Measurement] {
        let sample = try WholeChainSample(book)
        let alone = try sample.measure("the whole chain, one thread", messages)
        async let other = sample.measure("the whole chain, two threads", messages)
        let one = try sample.measure("the whole chain, two threads", messages)
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

    fileprivate func measure(_ name: String, _ messages: Int) throws -> Measurement {
        let turn = ChainTurn(chain, payload: payload, count: 41)
        turn.run()
        if let other = turn.results.first(where: { $0 != .ok }) { throw UnexpectedResult(result: other) }
        return Measurement(name, messages: messages) { turn.run() }
    }
}
