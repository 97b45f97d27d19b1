import Push

/// The topics by name.
package struct TopicSettings: Sendable {
    package let input: [String]
    package let output: String
    package let deadLetter: String
    /// Of badge counts; used with exactly-once only.
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

extension SettingFormat where Value == String {
    /// A topic's name as Kafka allows it.
    fileprivate static var topic: Self {
        Self(
            parse: { text throws(SettingMismatch) in
                let isLegal = text.unicodeScalars.allSatisfy {
                    $0.isASCII
                        && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || "._-".contains(Character($0)))
                }
                guard isLegal, (1...249).contains(text.utf8.count), text != ".", text != ".." else {
                    throw SettingMismatch(expected: "a topic's name (letters, digits, '.', '_' and '-', at most 249)")
                }
                return text
            }, render: { $0 })
    }
}
