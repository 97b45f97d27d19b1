import PushmillStages

/// The topics by name.
package struct TopicSettings: Sendable {
    package let input: [String]
    package let output: String
    package let deadLetter: String
    /// Of badge counts.
    package let badgeChangelog: String

    init(from settings: inout SettingReader) {
        input = settings.list("input", .topic, default: ["push.events"])
        if input.isEmpty, settings.problems.isEmpty { settings.report("input", "names no topic") }
        output = settings.value("output", .topic, default: "push.notifications")
        deadLetter = settings.value("dead-letter", .topic, default: "push.dead-letters")
        badgeChangelog = settings.value("badge-changelog", .topic, default: "push.badges")
        for (index, name) in input.enumerated() where input[..<index].contains(name) {
            settings.report("input", "names \(name) twice")
        }
    }
}
