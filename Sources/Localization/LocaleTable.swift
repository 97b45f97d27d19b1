import Glibc
import PushmillPayload

/// The translations of one locale, compiled. Immutable, and shared by all shards.
package final class LocaleTable: Sendable {
    let locale: LocaleName
    let programs: FormatPrograms
    let rules: PluralRules
    let numbers: NumberSymbols
    private let entries: TableEntries

    /// Nil only if ICU does not work.
    fileprivate init?(_ locale: LocaleName, _ entries: TableEntries, _ programs: FormatPrograms) {
        guard let rules = PluralRules(locale: locale), let numbers = NumberSymbols(locale: locale) else { return nil }
        self.locale = locale
        self.entries = entries
        self.programs = programs
        self.rules = rules
        self.numbers = numbers
    }

    var count: Int { entries.all.count }

    /// `hash` is the key's by `TableEntries.hash`.
    func entry(_ key: UnsafeBufferPointer<UInt8>, hash: UInt32) -> TableEntries.Entry? {
        entries.find(key, hash: hash, in: programs.text).map { entries.all[$0] }
    }

    /// Appends the text, with `regional` numbers if given. False, with only a part appended, if the arguments are not
    /// what the translation needs. Surplus ones are ignored: translations of one key use different numbers of them.
    func append(
        _ entry: TableEntries.Entry, _ arguments: UnsafeBufferPointer<FormatArgument>, _ regional: NumberSymbols?,
        to output: inout FormatOutput
    ) -> Bool {
        arguments.count >= entry.argumentCount
            && append(program: entry.program, arguments, regional, to: &output)
    }

    func entry(_ key: ArraySlice<UInt8>) -> TableEntries.Entry? {
        key.withUnsafeBufferPointer { entry($0, hash: TableEntries.hash($0)) }
    }

    var keys: some Sequence<(key: ArraySlice<UInt8>, entry: TableEntries.Entry)> {
        entries.all.lazy.map { [entries, text = programs.text] in (entries.key(of: $0, in: text), $0) }
    }

    /// The categories that each plural of a translation has forms for.
    func pluralForms(of entry: TableEntries.Entry) -> [Set<PluralCategory>] {
        programs.allPieces(from: entry.program).filter { $0.kind == .plural }
            .map { Set(programs.forms(of: $0).map(\.category)) }
    }

    /// The arguments that a translation uses in this way, from 0.
    func arguments(of entry: TableEntries.Entry, _ kind: FormatPiece.Kind) -> Set<UInt8> {
        Set(programs.allPieces(from: entry.program).filter { $0.kind == kind }.map(\.argument))
    }

    /// What a translation expects of its arguments, as the usual specifiers of their kinds. An argument that is used
    /// twice has the more demanding kind.
    func signature(of entry: TableEntries.Entry) -> String {
        var kinds = [Int](repeating: 0, count: entry.argumentCount)
        for piece in programs.allPieces(from: entry.program) {
            let kind =
                switch piece.kind {
                case .text: 1
                case .integer, .plural: 2
                case .float: 3
                case .end, .literal, .unservable: 0
                }
            if kind > 0 { kinds[Int(piece.argument)] = max(kinds[Int(piece.argument)], kind) }
        }
        let names = ["(unused)", "@", "d", "f"]
        let specifiers = kinds.enumerated().map { "%\($0 + 1)$\(names[$1])" }
        return specifiers.isEmpty ? "no arguments" : specifiers.joined(separator: " ")
    }
}

/// Builds the table of a locale.
struct TableBuilder {
    private var programs = FormatPrograms()
    private var entries = TableEntries()
    /// Which file each entry is from.
    private var origins: [Int] = []

    /// Compiles a translation. An earlier file takes precedence; if a file has a key twice, the last one counts and the
    /// result is true.
    mutating func add(
        _ template: Template, for key: SourceString, from source: SourceText, number file: Int,
        warnings: inout [CatalogProblem]
    ) throws(CatalogProblem) -> Bool {
        let hash = key.bytes.withUnsafeBufferPointer(TableEntries.hash)
        let place = key.bytes.withUnsafeBufferPointer { entries.find($0, hash: hash, in: programs.text) }
        if let place, origins[place] != file { return false }
        let (program, argumentCount) = try FormatCompiler.compile(
            template, from: source, into: &programs, warnings: &warnings)
        guard programs.text.count + key.bytes.count < Int(UInt32.max) / 2 else {
            throw CatalogProblem(file: source.file, message: "the locale has too much text")
        }
        if let place {
            entries.replace(place, program: program, argumentCount: argumentCount)
            return true
        }
        let start = programs.append(key.bytes)
        let entry = TableEntries.Entry(
            keyStart: start, keyCount: UInt32(key.bytes.count), program: program, argumentCount: argumentCount)
        entries.insert(entry, hash: hash)
        origins.append(file)
        return false
    }

    /// Nil only if ICU does not work.
    consuming func finish(_ locale: LocaleName) -> LocaleTable? {
        programs.trim()
        entries.trim()
        return LocaleTable(locale, entries, programs)
    }
}

/// A table's translations, found by the bytes of their keys.
struct TableEntries {
    struct Entry {
        /// In the text of the table.
        let keyStart: UInt32
        let keyCount: UInt32
        var program: UInt32
        var argumentCount: Int
    }

    private(set) var all: [Entry] = []
    private var index = KeyIndex()

    static func hash(_ key: UnsafeBufferPointer<UInt8>) -> UInt32 { KeyIndex.plainHash(UnsafeRawBufferPointer(key)) }

    /// The place in `all` of a key with this hash.
    func find(_ key: UnsafeBufferPointer<UInt8>, hash: UInt32, in text: [UInt8]) -> Int? {
        index.find(hash) { isKey(all[$0], key, text) }
    }

    /// Adds an entry whose key is not there yet.
    mutating func insert(_ entry: Entry, hash: UInt32) {
        index.insert(hash, all.count)
        all.append(entry)
    }

    mutating func replace(_ place: Int, program: UInt32, argumentCount: Int) {
        all[place].program = program
        all[place].argumentCount = argumentCount
    }

    /// Releases unused capacity.
    mutating func trim() { all = all.withUnsafeBufferPointer { Array($0) } }

    func key(of entry: Entry, in text: [UInt8]) -> ArraySlice<UInt8> {
        text[Int(entry.keyStart)..<Int(entry.keyStart + entry.keyCount)]
    }

    private func isKey(_ entry: Entry, _ key: UnsafeBufferPointer<UInt8>, _ text: [UInt8]) -> Bool {
        guard Int(entry.keyCount) == key.count, let wanted = key.baseAddress else { return entry.keyCount == key.count }
        return text.withUnsafeBufferPointer { text in
            let own = UnsafeBufferPointer(rebasing: text[Int(entry.keyStart)...].prefix(key.count))
            return own.baseAddress.map { memcmp($0, wanted, own.count) == 0 } ?? false
        }
    }
}
