/// A locale's table in the making.
struct TableBuilder {
    private var programs = FormatPrograms()
    private var index = KeyIndex()
    /// Which file each entry is from.
    private var origins: [Int] = []

    /// Compiles a translation. An earlier file's comes first; where a file has a key twice, the last counts, and the
    /// answer is true.
    mutating func add(
        _ template: Template, for key: SourceString, from source: SourceText, number file: Int
    ) throws(CatalogProblem) -> Bool {
        let hash = key.bytes.withUnsafeBufferPointer(KeyIndex.hash)
        let place = key.bytes.withUnsafeBufferPointer { index.find($0, hash: hash, in: programs.text) }
        if let place, origins[place] != file { return false }
        let (program, signature) = try FormatCompiler.compile(template, from: source, into: &programs)
        guard programs.text.count + key.bytes.count < Int(UInt32.max) / 2 else {
            throw CatalogProblem(file: source.file, message: "more text than a locale may have")
        }
        if let place {
            index.replace(place, program: program, signature: signature)
            return true
        }
        let start = programs.append(key.bytes)
        let entry = KeyIndex.Entry(
            keyStart: start, keyCount: UInt32(key.bytes.count), program: program, signature: signature)
        index.insert(entry, hash: hash, in: programs.text)
        origins.append(file)
        return false
    }

    /// Nil only if ICU does not work.
    consuming func finish(_ locale: LocaleName) -> LocaleTable? {
        guard let rules = PluralRules(locale: locale), let numbers = NumberSymbols(locale: locale) else { return nil }
        programs.trim()
        index.trim()
        return LocaleTable(
            locale: locale, index: index, renderer: FormatRenderer(programs: programs, rules: rules, numbers: numbers))
    }
}
