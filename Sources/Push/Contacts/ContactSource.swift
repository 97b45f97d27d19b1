/// Where a configuration keeps contacts.
public enum ContactSource: Sendable, Hashable {
    /// The embedded store.
    case state
    /// JSON Lines.
    case file(String)
    /// Compacted.
    case topic(String)
}

extension ContactSource: CustomStringConvertible {
    public var description: String {
        switch self {
        case .state: "state"
        case .file(let path): path
        case .topic(let name): "topic:\(name)"
        }
    }
}

extension SettingFormat where Value == ContactSource {
    /// `state`, `topic:NAME` or a file.
    static var contactSource: Self {
        Self(
            isSecret: false,
            parse: { text, folder throws(SettingMismatch) in
                if text == "state" { return .state }
                guard text.hasPrefix("topic:") else { return .file(try SettingFormat<String>.file.parse(text, folder)) }
                let name = text.dropFirst("topic:".count)
                guard !name.isEmpty else { throw SettingMismatch(expected: "the name of a topic after topic:") }
                return .topic(String(name))
            }, render: \.description)
    }
}
