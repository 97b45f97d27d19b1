import PushmillStages

/// A stage that asks a server for a preview, which for some events hangs: what a deadline is for.
struct DemoPreview: Stage {
    let name = "preview"

    static let entry = StageEntry("preview") { _ in { _ in DemoPreview() } }

    func didReceive(_ content: inout NotificationContent, context: StageContext) async throws -> StageResult {
        guard JSONPointer("/preview").flatMap(content.string) == "hangs" else { return .skipped }
        try await Task.sleep(for: .seconds(60))
        return .ok
    }
}
