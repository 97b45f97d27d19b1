import PushmillPayload
package import PushmillStages
import Synchronization

/// Media as it was recorded: a replay fetches nothing. What a baseline does not tell stays unfetched.
package final class RecordedMedia: Sendable {
    private let outputs = Mutex<[String: [UInt8]]>([:])

    package init() {}

    package func open(_ settings: MediaSettings) -> any MediaSource {
        RecordedMediaSource(recorded: self, members: settings.members)
    }

    /// Before the record is run, with its output in the baseline, in the form of `BaselineLine`.
    func expect(_ line: [UInt8]?, for input: RecordEnvelope) { outputs.withLock { $0[input.place] = line } }

    func forget(_ input: RecordEnvelope) { expect(nil, for: input) }

    fileprivate func output(of source: Source) -> RecordEnvelope? {
        outputs.withLock { $0["\(source)"] }.flatMap { try? RecordEnvelope(line: $0) }
    }
}

private final class RecordedMediaSource: MediaSource {
    private let recorded: RecordedMedia
    private let members: MediaMembers
    /// For media that was attached to what did not leave then: nobody knows which it was. It takes no less room.
    private let standIn: Media

    init(recorded: RecordedMedia, members: MediaMembers) {
        self.recorded = recorded
        self.members = members
        let types = MediaType.allCases.map { type in
            (type: type, length: type.fileExtension.utf8.count + (members.type == nil ? 0 : type.rawValue.utf8.count))
        }
        let longest = types.max { $0.length < $1.length }?.type ?? .aiff
        standIn = Media(hash: String(repeating: "0", count: 64), type: longest, size: longest.sizeLimit)
    }

    func known(at url: String, for context: StageContext) throws(MediaFailure) -> Media? {
        try media(at: url, for: context)
    }

    func media(at url: String, for context: StageContext) throws(MediaFailure) -> Media? {
        guard let output = recorded.output(of: context.source) else { return nil }
        let stages = output.text("pushmill-stages")?.split(separator: ",") ?? []
        let result = stages.first { $0.hasPrefix("attachment=") }?.drop { $0 != "=" }.dropFirst()
        switch result {
        case "ok":
            return output.text("pushmill-outcome") == "\(Outcome.original.name)" ? standIn : media(in: output)
        case "expired": throw .abandoned
        default:
            let failure = MediaFailure.allCases.first { result == "failed:\($0.reason)" }
            if let failure { throw failure }
            return nil
        }
    }

    private func media(in output: RecordEnvelope) -> Media? {
        guard let payload = output.payload,
            let document = try? JSONDocument(String(decoding: payload, as: UTF8.self)),
            let url = document.node(at: members.url).flatMap(document.string),
            let name = url.split(separator: "/").last
        else { return nil }
        let size = members.size.flatMap(document.node).flatMap(document.integer)
        return Media(name: String(name), size: size)
    }
}
