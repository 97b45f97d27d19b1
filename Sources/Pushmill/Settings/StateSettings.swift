import PushmillStages

/// Where counts, contacts and checkpoints survive a restart.
package struct StateSettings: Sendable {
    package let path: String

    init(from settings: inout SettingReader) {
        path = settings.value("path", .file, default: "/var/lib/pushmill/state.sqlite")
    }
}
