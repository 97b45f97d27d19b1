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
