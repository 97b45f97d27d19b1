/// Where a configuration keeps contacts.
public enum ContactSource: Sendable, Hashable {
    /// The embedded store.
    case state
    /// JSON Lines.
    case file(String)
    /// Compacted.
    case topic(String)

    package var isFile: Bool {
        if case .file = self { true } else { false }
    }
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

extension ConfiguredStage {
    /// Nil for a stage without contacts.
    package var contactSource: ContactSource? {
        contactSetting("source").flatMap { try? SettingFormat.contactSource.parse($0, "") }
    }

    /// A recipient's contacts lie in the topic's partition of the number that the recipient's events have.
    package var hasCoPartitionedContacts: Bool {
        contactSetting("co-partitioned").flatMap { try? SettingFormat.bool.parse($0, "") } ?? false
    }

    private func contactSetting(_ key: String) -> String? {
        guard name == "contact", case .map(let members) = settings.value,
            case .scalar(let text)? = members.first(where: { $0.key == key })?.value.value
        else { return nil }
        return text
    }
}

extension SettingFormat where Value == ContactSource {
    /// `state`, `topic:NAME` or a file.
    package static var contactSource: Self {
        Self(
            isSecret: false,
            parse: { text, folder throws(SettingMismatch) in
                if text == "state" { return .state }
                guard text.hasPrefix("topic:") else { return .file(try SettingFormat<String>.file.parse(text, folder)) }
                let name = String(text.dropFirst("topic:".count))
                return .topic(try SettingFormat<String>.topic.parse(name, folder))
            }, render: \.description)
    }
}
