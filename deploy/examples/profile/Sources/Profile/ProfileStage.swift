import Foundation
import FoundationNetworking
import Pushmill

/// The push names the sender by an identifier alone; this stage asks a service for the sender's name and makes it the
/// title. It waits for another machine, so it is a `Stage`: other recipients' messages go on meanwhile.
struct ProfileStage: Stage {
    let name = "profile"
    var results: [StageResult] { [.word("unknown"), .failed("unavailable"), .failed("malformed")] }

    /// `GET` of a path below it returns `{"name": "Zoë Martin"}`, or 404.
    let service: URL
    /// The title if the sender's name is unknown.
    let fallback: String
    private let session: URLSession

    init(service: URL, fallback: String = "Someone") {
        self.service = service
        self.fallback = fallback
        let configuration = URLSessionConfiguration.ephemeral
        // As many requests at once as there are messages: a request that hangs delays no other.
        configuration.httpMaximumConnectionsPerHost = 1000
        session = URLSession(configuration: configuration)
    }

    /// Spares messages without a sender the hop to the pool of threads that may block.
    func didReceiveAtOnce(_ content: inout NotificationContent, context: StageContext) -> StageResult? {
        sender(in: content) == nil ? .skipped : nil
    }

    /// The request needs no timeout: at the end of the stage's budget, or at the deadline, the task is canceled, and
    /// the request with it.
    func didReceive(_ content: inout NotificationContent, context: StageContext) async throws -> StageResult {
        guard let sender = sender(in: content) else { return .skipped }
        let answer: (data: Data, response: URLResponse)
        do {
            answer = try await session.data(from: service.appending(component: sender))
        } catch {
            return fail(&content, "unavailable")
        }
        switch (answer.response as? HTTPURLResponse)?.statusCode {
        case 200:
            guard let profile = try? JSONDecoder().decode(Profile.self, from: answer.data), !profile.name.isEmpty else {
                return fail(&content, "malformed")
            }
            content.title = profile.name
            return .ok
        case 404:
            content.title = fallback
            return .word("unknown")
        default:
            return fail(&content, "unavailable")
        }
    }

    func timeWillExpire(_ content: inout NotificationContent, context: StageContext) -> StageResult {
        guard sender(in: content) != nil else { return .skipped }
        content.title = fallback
        return .expired
    }

    private struct Profile: Decodable {
        let name: String
    }

    private func sender(in content: NotificationContent) -> String? {
        let sender = JSONPointer("/from").flatMap(content.string)
        // These would name the service itself or a path above it, not a sender.
        return ["", ".", ".."].contains(sender) ? nil : sender
    }

    /// A thrown error would undo the title too.
    private func fail(_ content: inout NotificationContent, _ reason: StaticString) -> StageResult {
        content.title = fallback
        return .failed(reason)
    }
}

extension ProfileStage {
    /// How a configuration asks for this stage: `profile: { service: "https://profiles.example.com/v1/" }`.
    static let entry = StageEntry("profile") { settings in
        let fallback = settings.value("fallback", .name, default: "Someone")
        guard let service = settings.required("service", .webAddress) else { return nil }
        return { _ in ProfileStage(service: service, fallback: fallback) }
    }
}

extension SettingFormat where Value == URL {
    fileprivate static var webAddress: Self {
        Self(
            parse: { text throws(SettingMismatch) in
                guard let url = URL(string: text), ["http", "https"].contains(url.scheme), url.host != nil else {
                    throw SettingMismatch(expected: "a URL such as https://profiles.example.com/")
                }
                return url
            }, render: \.absoluteString)
    }
}
