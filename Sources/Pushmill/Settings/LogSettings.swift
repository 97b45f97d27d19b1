import Push

/// What is logged, and how.
package struct LogSettings: Sendable {
    package enum Level: String, CaseIterable, Sendable { case error, warning, info, debug, trace }

    package enum Format: String, CaseIterable, Sendable {
        /// Text on a terminal, else JSON.
        case auto
        case json, text
    }

    package let level: Level
    package let format: Format

    init(from settings: inout SettingReader) {
        level = settings.value("level", .choice(Level.self), default: .info)
        format = settings.value("format", .choice(Format.self), default: .auto)
    }
}
