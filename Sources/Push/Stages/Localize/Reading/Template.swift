/// A translation as its file has it.
struct Template {
    enum Text {
        case plain(SourceString)
        case plural(PluralForms)
    }

    let text: Text
    /// What `%#@name@` means in it.
    var variables: [Variable] = []

    struct Variable {
        let name: SourceString
        /// The argument's position, from 1, where the variable itself says it.
        var argument: Int?
        /// What `%arg` means: a specifier without its percent sign.
        var specifier: SourceString?
        let forms: PluralForms
    }
}

/// The texts among which a number chooses. There always is one for `other`.
struct PluralForms {
    let other: SourceString
    private var forms: [SourceString?]

    init(_ forms: [PluralCategory: SourceString], other: SourceString) {
        self.other = other
        self.forms = PluralCategory.allCases.map { $0 == .other ? other : forms[$0] }
    }

    subscript(category: PluralCategory) -> SourceString? { forms[Int(category.rawValue)] }
}

/// Which of the texts for several devices is taken: these are notifications for iPhones.
enum DeviceChoice {
    static func preferred<Value>(of variations: [(name: String, value: Value)]) -> Value? {
        for name in ["iphone", "other"] {
            if let match = variations.first(where: { $0.name == name }) { return match.value }
        }
        return variations.first?.value
    }
}
