import Glibc
import PushmillPayload

/// The translations of one locale, compiled. Immutable, and shared by all shards.
package final class LocaleTable: Sendable {
    let locale: LocaleName
    let contents: TableContents
    let rules: PluralRules
    let numbers: NumberSymbols

    /// Nil only if ICU does not work.
    init?(_ locale: LocaleName, _ contents: consuming TableContents) {
        guard let rules = PluralRules(locale: locale), let numbers = NumberSymbols(locale: locale) else { return nil }
        contents.trim()
        self.locale = locale
        self.contents = contents
        self.rules = rules
        self.numbers = numbers
    }

    var count: Int { contents.entries.count }

    /// `hash` is the key's by `TableContents.hash`.
    func entry(_ key: UnsafeBufferPointer<UInt8>, hash: UInt32) -> TableContents.Entry? {
        contents.find(key, hash: hash).map { contents.entries[$0] }
    }

    /// Appends the text, with `regional` numbers if given. False, with only a part appended, if the arguments are not
    /// what the translation needs. Surplus ones are ignored: translations of one key use different numbers of them.
    func append(
        _ entry: TableContents.Entry, _ arguments: UnsafeBufferPointer<FormatArgument>, _ regional: NumberSymbols?,
        to output: inout FormatOutput
    ) -> Bool {
        arguments.count >= entry.argumentCount
            && append(program: entry.program, arguments, regional, to: &output)
    }

    func entry(_ key: ArraySlice<UInt8>) -> TableContents.Entry? {
        key.withUnsafeBufferPointer { entry($0, hash: TableContents.hash($0)) }
    }

    var keys: some Sequence<(key: ArraySlice<UInt8>, entry: TableContents.Entry)> {
        contents.entries.lazy.map { [contents] in (contents.key(of: $0), $0) }
    }

    /// The categories that each plural of a translation has forms for.
    func pluralForms(of entry: TableContents.Entry) -> [Set<PluralCategory>] {
        contents.programs.allPieces(from: entry.program).filter { $0.kind == .plural }
            .map { Set(contents.programs.forms(of: $0).map(\.category)) }
    }

    /// The arguments that a translation uses in this way, from 0.
    func arguments(of entry: TableContents.Entry, _ kind: FormatPiece.Kind) -> Set<UInt8> {
        Set(contents.programs.allPieces(from: entry.program).filter { $0.kind == kind }.map(\.argument))
    }

    /// What a translation expects of its arguments, as the usual specifiers of their kinds. An argument that is used
    /// twice has the more demanding kind.
    func signature(of entry: TableContents.Entry) -> String {
        var kinds = [Int](repeating: 0, count: entry.argumentCount)
        for piece in contents.programs.allPieces(from: entry.program) {
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

/// A table's translations, found by the bytes of their keys.
struct TableContents {
    struct Entry {
        /// In the text of the programs.
        let keyStart: UInt32
        let keyCount: UInt32
        var program: UInt32
        var argumentCount: Int
    }

    private(set) var programs = FormatPrograms()
    private(set) var entries: [Entry] = []
    /// Which file each entry is from.
    private var origins: [Int] = []
    private var index = KeyIndex()

    /// Compiles a translation. An earlier file takes precedence; if a file has a key twice, the last one counts and the
    /// result is true.
    mutating func add(
        _ template: Template, for key: SourceString, from source: SourceText, number file: Int,
        warnings: inout [CatalogProblem]
    ) throws(CatalogProblem) -> Bool {
        let hash = key.bytes.withUnsafeBufferPointer(Self.hash)
        let place = key.bytes.withUnsafeBufferPointer { find($0, hash: hash) }
        if let place, origins[place] != file { return false }
        let (program, argumentCount) = try FormatCompiler.compile(
            template, from: source, into: &programs, warnings: &warnings)
        guard programs.text.count + key.bytes.count < Int(UInt32.max) / 2 else {
            throw CatalogProblem(file: source.file, message: "the locale has too much text")
        }
        if let place {
            (entries[place].program, entries[place].argumentCount) = (program, argumentCount)
            return true
        }
        let start = programs.append(key.bytes)
        index.insert(hash, entries.count)
        entries.append(
            Entry(
                keyStart: start, keyCount: UInt32(key.bytes.count), program: program, argumentCount: argumentCount))
        origins.append(file)
        return false
    }

    static func hash(_ key: UnsafeBufferPointer<UInt8>) -> UInt32 { KeyIndex.plainHash(UnsafeRawBufferPointer(key)) }

    /// The place in `entries` of a key with this hash.
    func find(_ key: UnsafeBufferPointer<UInt8>, hash: UInt32) -> Int? { index.find(hash) { isKey(entries[$0], key) } }

    /// Releases unused capacity, and what only `add` needs.
    fileprivate mutating func trim() {
        programs.trim()
        entries = entries.withUnsafeBufferPointer { Array($0) }
        origins = []
    }

    func key(of entry: Entry) -> ArraySlice<UInt8> {
        programs.text[Int(entry.keyStart)..<Int(entry.keyStart + entry.keyCount)]
    }

    private func isKey(_ entry: Entry, _ key: UnsafeBufferPointer<UInt8>) -> Bool {
        guard Int(entry.keyCount) == key.count, let wanted = key.baseAddress else { return entry.keyCount == key.count }
        return programs.text.withUnsafeBufferPointer { text in
            let own = UnsafeBufferPointer(rebasing: text[Int(entry.keyStart)...].prefix(key.count))
            return own.baseAddress.map { memcmp($0, wanted, own.count) == 0 } ?? false
        }
    }
}
