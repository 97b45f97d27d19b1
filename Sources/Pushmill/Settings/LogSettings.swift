import PushmillStages
package import PushmillTelemetry

/// What is logged, and how.
package struct LogSettings: Sendable {
    package enum Format: String, CaseIterable, Sendable {
        /// Text on a terminal, else JSON.
        case auto
        case json, text
    }

    package let level: LogLevel
    package let format: Format

    init(from settings: inout SettingReader) {
        level = settings.value("level", .choice(LogLevel.allCases, name: \.name), default: .info)
        format = settings.value("format", .choice(Format.self), default: .auto)
    }
}
