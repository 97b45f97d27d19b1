/// A text that an alert shows.
public enum AlertText: Sendable, CaseIterable {
    case title, subtitle, body

    /// The member of the alert that holds the text itself.
    public var member: StaticString {
        switch self {
        case .title: "title"
        case .subtitle: "subtitle"
        case .body: "body"
        }
    }

    /// The member that names the text in the app's own catalogue instead.
    public var keyMember: StaticString {
        switch self {
        case .title: "title-loc-key"
        case .subtitle: "subtitle-loc-key"
        case .body: "loc-key"
        }
    }

    public var argumentsMember: StaticString {
        switch self {
        case .title: "title-loc-args"
        case .subtitle: "subtitle-loc-args"
        case .body: "loc-args"
        }
    }
}
