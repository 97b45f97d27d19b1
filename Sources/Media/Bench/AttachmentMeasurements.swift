package import PushmillStages

extension Measurement {
    /// What the stage costs in a chain of its own, for a message with a URL that is known and for one without; compare
    /// with a chain of no stages.
    package static func attachment(messages: Int = 20_000) -> [Measurement] {
        // A text that the sample has.
        let members = [("a URL that is known", "ENCRYPTED_DATA"), ("no URL", "media-url")]
        var measurements: [Measurement] = []
        for (name, member) in members {
            let options = AttachmentStage.Options(
                MediaMembers(url: JSONPointer(member: member)), publicBase: "https://media.example.com/")
            let stage = AttachmentStage(options, source: RememberedMedia(), texts: SharedTexts())
            let turn = ChainTurn(Chain([ChainLink(stage)]))
            measurements.append(Measurement("a chain of attachment, \(name)", messages: messages) { turn.run() })
        }
        return measurements
    }
}

/// Knows what is behind every URL that it was asked for before.
private final class RememberedMedia: MediaSource {
    private let requests = Requests()

    func known(at url: String, for context: StageContext) throws(MediaFailure) -> Media? {
        try media(at: url, for: context)
    }

    func media(at url: String, for context: StageContext) throws(MediaFailure) -> Media? {
        switch requests.join(url, until: context.limit, now: .past) {
        case .known(let media, _): return media
        case .waiting: throw .abandoned
        case .first(_, let fetch):
            let media = Media(hash: String(repeating: "0123456789abcdef", count: 4), type: .jpeg, size: 20_000)
            requests.end(fetch, .success(media), now: .past)
            return media
        }
    }
}
