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
