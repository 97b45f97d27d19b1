import PushmillMedia
import PushmillPayload
import PushmillStages

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

/// Knows what is behind every URL.
private final class RememberedMedia: MediaSource {
    private let image = Media(hash: String(repeating: "0123456789abcdef", count: 4), type: .jpeg, size: 20_000)

    func known(at url: String, for context: StageContext) throws(MediaFailure) -> Media? { image }
    func media(at url: String, for context: StageContext) throws(MediaFailure) -> Media? { image }
}
