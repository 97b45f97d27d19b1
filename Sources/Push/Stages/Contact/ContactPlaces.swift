/// The texts of an alert, and the arguments left for the device, in which there is a placeholder.
struct ContactPlaces: OptionSet {
    let rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue }

    static func text(_ text: AlertText) -> ContactPlaces { ContactPlaces(rawValue: 1 << number(of: text)) }

    static func arguments(of text: AlertText) -> ContactPlaces { ContactPlaces(rawValue: 8 << number(of: text)) }

    private static func number(of text: AlertText) -> UInt8 {
        switch text {
        case .title: 0
        case .subtitle: 1
        case .body: 2
        }
    }
}

extension NotificationContent {
    /// Looks at every text once: most messages have no placeholder at all.
    var contactPlaces: ContactPlaces {
        guard let alert else { return [] }
        if hasPlaceholder(alert) { return .text(.body) }
        var places: ContactPlaces = []
        document.forEachChild(of: alert) { member in
            if hasPlaceholder(member) {
                if let text = AlertText.allCases.first(where: { document.isNamed($0.member, member) }) {
                    places.insert(.text(text))
                }
            } else if hasPlaceholderInside(member) {
                if let text = AlertText.allCases.first(where: { document.isNamed($0.argumentsMember, member) }) {
                    places.insert(.arguments(of: text))
                }
            }
        }
        return places
    }

    func hasPlaceholder(_ node: JSONNode) -> Bool {
        document.withText(of: node) { ContactPlaceholders.areIn($0) } ?? false
    }

    private func hasPlaceholderInside(_ list: JSONNode) -> Bool {
        guard document.kind(of: list) == .array else { return false }
        var isFound = false
        document.forEachChild(of: list) { if hasPlaceholder($0) { isFound = true } }
        return isFound
    }
}
