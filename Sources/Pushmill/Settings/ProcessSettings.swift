import CPushmillProcess
import PushmillStages

/// What the system may do with the process.
package struct ProcessSettings: Sendable {
    /// Core files and debuggers see keys and texts.
    package let dumpsCore: Bool
    /// The secrets of examples do, also where others can reach the service.
    package let allowsSamples: Bool

    init(from settings: inout SettingReader) {
        dumpsCore = settings.value("core-dumps", .bool, default: false)
        allowsSamples = settings.value("sample-secrets", .bool, default: false)
    }

    /// A program hides its memory from its first line on.
    func apply() {
        if dumpsCore { _ = pushmill_show_memory(1) }
    }
}
