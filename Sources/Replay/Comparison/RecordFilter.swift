import PushmillStages

/// Which records are compared. All are run, so that counts come out as they do without a filter.
package struct RecordFilter: Sendable {
    package var keys: Set<String> = []
    package var categories: Set<String> = []
    /// One of them before or after is enough.
    package var outcomes: Set<String> = []

    package init() {}

    func admits(_ input: RecordEnvelope) -> Bool {
        if !keys.isEmpty, !keys.contains(input.key.map { String(decoding: $0, as: UTF8.self) } ?? "") { return false }
        if categories.isEmpty { return true }
        return NotificationContent(input)?.category.map(categories.contains) ?? false
    }

    func admits(outcomes before: String?, _ after: String?) -> Bool {
        outcomes.isEmpty || before.map(outcomes.contains) ?? false || after.map(outcomes.contains) ?? false
    }
}
