import PushmillPayload

/// Reads `.xcstrings` files: String Catalogs.
struct StringCatalog {
    private let source: SourceText
    private let document: JSONDocument
    let sourceLanguage: SourceString
    private let strings: JSONNode

    init(_ source: SourceText) throws(CatalogProblem) {
        self.source = source
        do throws(PayloadError) {
            document = try JSONDocument(bytes: source.bytes)
        } catch {
            switch error {
            case .notJSON(let offset, let fault): throw source.problem(at: offset, "not JSON: \(fault.rawValue)")
            case .tooDeep(let offset): throw source.problem(at: offset, "nested too deeply")
            case .notAnObject, .withoutAps, .tooManyMembers: throw source.problem(at: 0, "not a JSON object")
            }
        }
        guard let language = document.member("sourceLanguage", of: document.root),
            let sourceLanguage = Self.text(of: language, in: document)
        else { throw source.problem(at: 0, "no sourceLanguage") }
        guard let strings = document.member("strings", of: document.root), document.kind(of: strings) == .object
        else { throw source.problem(at: 0, "no strings") }
        self.sourceLanguage = sourceLanguage
        self.strings = strings
    }

    /// Passes each key with its localizations by language, and whether it is to be translated.
    func forEachKey(
        _ body: (_ key: SourceString, _ isTranslated: Bool, _ localizations: [(SourceString, JSONNode)]) -> Void
    ) {
        document.forEachChild(of: strings) { key in
            let isTranslated = document.member("shouldTranslate", of: key).map { scalar($0) != "false" } ?? true
            let localizations = document.member("localizations", of: key).map { document.children(of: $0) } ?? []
            body(name(of: key), isTranslated, localizations.map { (name(of: $0), $0) })
        }
    }

    /// Nil if the localization has not been written yet, or lacks a part that it needs.
    func template(of localization: JSONNode) throws(CatalogProblem) -> Template? {
        guard let text = try text(of: localization) else { return nil }
        guard let substitutions = document.member("substitutions", of: localization) else {
            return Template(text: text)
        }
        var variables: [Template.Variable] = []
        for node in document.children(of: substitutions) {
            guard let variable = try variable(node) else { return nil }
            variables.append(variable)
        }
        return Template(text: text, variables: variables)
    }

    private func variable(_ substitution: JSONNode) throws(CatalogProblem) -> Template.Variable? {
        let name = name(of: substitution)
        var position: Int?
        if let argument = document.member("argNum", of: substitution) {
            position = Int(scalar(argument))
            guard let position, position > 0 else { throw problem(argument, "argNum starts at 1") }
        }
        let specifier = document.member("formatSpecifier", of: substitution).flatMap(string)
        let forms: PluralForms
        switch try text(of: substitution) {
        case .plain(let text): forms = [.other: text]
        case .plural(let plural): forms = plural
        case nil:
            let isThere = ["stringUnit", "variations"].contains { document.member($0, of: substitution) != nil }
            if isThere { return nil }
            throw problem(substitution, "the substitution \(name.string) has no text")
        }
        return Template.Variable(name: name, argument: position, specifier: specifier, forms: forms)
    }

    /// The text of a node's string unit or variations; nil if it has neither, or if they have no text yet.
    private func text(of node: JSONNode) throws(CatalogProblem) -> Template.Text? {
        if let unit = document.member("stringUnit", of: node) { return try value(of: unit).map { .plain($0) } }
        guard let variations = document.member("variations", of: node) else { return nil }
        if let devices = document.member("device", of: variations) {
            let choices = document.children(of: devices).map { (name: name(of: $0).string, value: $0) }
            guard let chosen = DeviceChoice.preferred(of: choices) else { throw problem(devices, "no device") }
            return try text(of: chosen)
        }
        guard let plural = document.member("plural", of: variations) else {
            throw problem(variations, "expected variations by plural or by device")
        }
        return try forms(of: plural).map { .plural($0) }
    }

    private func forms(of plural: JSONNode) throws(CatalogProblem) -> PluralForms? {
        var forms = PluralForms()
        var isWhole = true
        for node in document.children(of: plural) {
            let name = name(of: node)
            guard let category = PluralCategory(name) else {
                throw problem(node, "\(name.string) is not a plural form")
            }
            switch try text(of: node) {
            case .plain(let text): forms[category] = text
            case .plural: throw problem(node, "a plural within a plural")
            case nil: isWhole = false
            }
        }
        guard forms[.other] != nil else {
            if !isWhole || forms.isEmpty { return nil }
            throw problem(plural, "the plural has no form \"other\"")
        }
        return forms
    }

    /// Nil for a unit that is marked as new and has no text.
    private func value(of unit: JSONNode) throws(CatalogProblem) -> SourceString? {
        let isNew = document.member("state", of: unit).flatMap(string).map { $0 == "new" } ?? false
        let value = document.member("value", of: unit).flatMap(string)
        if isNew, value?.bytes.isEmpty ?? true { return nil }
        guard let value else { throw problem(unit, "the string unit has no value") }
        return value
    }

    // MARK: - JSON

    private func string(_ node: JSONNode) -> SourceString? { Self.text(of: node, in: document) }

    private static func text(of node: JSONNode, in document: JSONDocument) -> SourceString? {
        document.bytes(of: node, isEncoded: false)
            .map { SourceString(bytes: $0[...], offset: document.start(of: node)) }
    }

    private func name(of node: JSONNode) -> SourceString {
        let bytes = document.withName(of: node) { name in name.withUnsafeBufferPointer { Array($0) } }
        return SourceString(bytes: (bytes ?? [])[...], offset: document.start(of: node))
    }

    private func scalar(_ node: JSONNode) -> String {
        var text: [UInt8] = []
        document.render(node, into: &text)
        return String(decoding: text, as: UTF8.self)
    }

    private func problem(_ node: JSONNode, _ message: String) -> CatalogProblem {
        source.problem(at: document.start(of: node), message)
    }
}
