public import PushmillStages

/// Lets tests write settings as `["keys": "a.json", "fields": [["from": "/x"]], "note": nil]`.
extension Setting: ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral,
    ExpressibleByNilLiteral
{
    static let place = Place.file("test.yaml", line: 1, column: 1)

    public init(stringLiteral text: String) { self.init(place: Self.place, value: .scalar(text)) }

    public init(arrayLiteral items: Setting...) { self.init(place: Self.place, value: .list(items)) }

    public init(dictionaryLiteral members: (String, Setting)...) {
        let members = members.map { Member(key: $0, place: Self.place, value: $1) }
        self.init(place: Self.place, value: .map(members))
    }

    public init(nilLiteral: ()) { self.init(place: Self.place, value: .null) }
}

extension SettingReader {
    init(_ setting: Setting) { self.init(setting, folder: "/etc/pushmill") }

    /// The problems without their place.
    var messages: [String] { problems.map { "\($0.path): \($0.message)" } }

    /// A key's text in the effective configuration.
    func shown(_ key: String) -> String? {
        guard case .map(let members) = effective.value, let member = members.first(where: { $0.key == key }),
            case .scalar(let text) = member.value.value
        else { return nil }
        return text
    }
}
