/// A translation as written in its file.
struct Template {
    enum Text {
        case plain(SourceString)
        case plural(PluralForms)
    }

    let text: Text
    /// The variables that `%#@name@` refers to in the text.
    var variables: [Variable] = []

    struct Variable {
        let name: SourceString
        /// The argument's position, from 1, if the variable itself specifies it.
        var argument: Int?
        /// What `%arg` means: a specifier without its percent sign.
        var specifier: SourceString?
        let forms: PluralForms
    }
}

/// The texts that a number chooses from. There is always one for `other`.
typealias PluralForms = [PluralCategory: SourceString]

/// Reads the values of `.strings` and `.stringsdict` files.
struct PropertyTemplates {
    let source: SourceText
    private(set) var warnings: [CatalogProblem] = []

    static func root(_ source: SourceText) throws(CatalogProblem) -> Property {
        if source.isBinary { return try Property.read(binary: source) }
        let first = source.bytes.first { $0 > 0x20 }
        return first == UInt8(ascii: "<") ? try XMLPropertyReader.read(source) : try OldStyleReader.read(source)
    }

    mutating func template(of value: Property) throws(CatalogProblem) -> Template {
        if let text = value.string { return Template(text: .plain(text)) }
        guard value.members != nil else { throw problem(value, "expected a string or a dictionary") }
        if let format = value.member("NSStringLocalizedFormatKey") {
            guard let text = format.string else { throw problem(format, "the format is not a string") }
            return Template(text: .plain(text), variables: try variables(of: value))
        }
        if let devices = value.member("NSStringDeviceSpecificRuleType") {
            let variations = (devices.members ?? []).map { (name: $0.key.string, value: $0.value) }
            guard let chosen = DeviceChoice.preferred(of: variations) else { throw problem(devices, "no device") }
            return try template(of: chosen)
        }
        if let widths = value.member("NSStringVariableWidthRuleType") {
            let widest = widths.members?.max { Int($0.key.string) ?? 0 < Int($1.key.string) ?? 0 }
            guard let widest else { throw problem(widths, "no width") }
            return try template(of: widest.value)
        }
        throw problem(value, "no NSStringLocalizedFormatKey")
    }

    private mutating func variables(of value: Property) throws(CatalogProblem) -> [Template.Variable] {
        var variables: [Template.Variable] = []
        for (name, value) in value.members ?? [] where value.members != nil {
            guard let type = value.member("NSStringFormatSpecTypeKey")?.string, type == "NSStringPluralRuleType" else {
                throw problem(
                    value, "the variable \(name.string) is missing NSStringFormatSpecTypeKey NSStringPluralRuleType")
            }
            let specifier = value.member("NSStringFormatValueTypeKey")?.string
            variables.append(.init(name: name, specifier: specifier, forms: try forms(of: value, name)))
        }
        return variables
    }

    private mutating func forms(of value: Property, _ name: SourceString) throws(CatalogProblem) -> PluralForms {
        var forms = PluralForms()
        for (key, value) in value.members ?? [] {
            if key == "NSStringFormatSpecTypeKey" || key == "NSStringFormatValueTypeKey" { continue }
            guard let category = PluralCategory(key) else {
                throw source.problem(at: key.offset, "\(key.string) is not a plural form")
            }
            guard let text = value.string else { throw problem(value, "the form \(key.string) is not a string") }
            if forms.updateValue(text, forKey: category) != nil {
                warnings.append(source.problem(at: key.offset, "the form \(key.string) occurs twice; the last is used"))
            }
        }
        guard forms[.other] != nil else { throw problem(value, "\(name.string) has no form \"other\"") }
        return forms
    }

    private func problem(_ value: Property, _ message: String) -> CatalogProblem {
        source.problem(at: value.offset, message)
    }
}

/// Chooses among texts for several devices: these are notifications for iPhones.
enum DeviceChoice {
    static func preferred<Value>(of variations: [(name: String, value: Value)]) -> Value? {
        for name in ["iphone", "other"] {
            if let match = variations.first(where: { $0.name == name }) { return match.value }
        }
        return variations.first?.value
    }
}
