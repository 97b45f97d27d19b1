import Glibc
import PushmillPayload

/// The translations of one locale, compiled. Immutable, and shared by all shards.
package final class LocaleTable: Sendable {
    let locale: LocaleName
    let programs: FormatPrograms
    let rules: PluralRules
    let numbers: NumberSymbols
    private let index: KeyIndex

    /// Nil only if ICU does not work.
    fileprivate init?(_ locale: LocaleName, _ index: KeyIndex, _ programs: FormatPrograms) {
        guard let rules = PluralRules(locale: locale), let numbers = NumberSymbols(locale: locale) else { return nil }
        self.locale = locale
        self.index = index
        self.programs = programs
        self.rules = rules
        self.numbers = numbers
    }

    var count: Int { index.entries.count }

    /// `hash` is the key's by `KeyIndex.hash`.
    func entry(_ key: UnsafeBufferPointer<UInt8>, hash: UInt64) -> KeyIndex.Entry? {
        index.find(key, hash: hash, in: programs.text).map { index.entries[$0] }
    }

    /// Appends the text, with `regional` numbers if given. False, with only a part appended, if the arguments are not
    /// what the translation needs. Surplus ones are ignored: translations of one key use different numbers of them.
    func append(
        _ entry: KeyIndex.Entry, _ arguments: UnsafeBufferPointer<FormatArgument>, _ regional: NumberSymbols?,
        to output: inout FormatOutput
    ) -> Bool {
        arguments.count >= entry.argumentCount
            && append(program: entry.program, arguments, regional, to: &output)
    }

    func entry(_ key: ArraySlice<UInt8>) -> KeyIndex.Entry? {
        key.withUnsafeBufferPointer { entry($0, hash: KeyIndex.hash($0)) }
    }

    var keys: some Sequence<(key: ArraySlice<UInt8>, entry: KeyIndex.Entry)> {
        index.entries.lazy.map { [index, text = programs.text] in (index.key(of: $0, in: text), $0) }
    }

    /// The categories that each plural of a translation has forms for.
    func pluralForms(of entry: KeyIndex.Entry) -> [Set<PluralCategory>] {
        programs.allPieces(from: entry.program).filter { $0.kind == .plural }
            .map { Set(programs.forms(of: $0).map(\.category)) }
    }

    /// The arguments that a translation uses in this way, from 0.
    func arguments(of entry: KeyIndex.Entry, _ kind: FormatPiece.Kind) -> Set<UInt8> {
        Set(programs.allPieces(from: entry.program).filter { $0.kind == kind }.map(\.argument))
    }

    /// What a translation expects of its arguments, as the usual specifiers of their kinds. An argument that is used
    /// twice has the more demanding kind.
    func signature(of entry: KeyIndex.Entry) -> String {
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
    private var index = KeyIndex()
    /// Which file each entry is from.
    private var origins: [Int] = []

    /// Compiles a translation. An earlier file takes precedence; if a file has a key twice, the last one counts and the
    /// result is true.
    mutating func add(
        _ template: Template, for key: SourceString, from source: SourceText, number file: Int,
        warnings: inout [CatalogProblem]
    ) throws(CatalogProblem) -> Bool {
        let place = key.bytes.withUnsafeBufferPointer { index.find($0, hash: KeyIndex.hash($0), in: programs.text) }
        if let place, origins[place] != file { return false }
        let (program, argumentCount) = try FormatCompiler.compile(
            template, from: source, into: &programs, warnings: &warnings)
        guard programs.text.count + key.bytes.count < Int(UInt32.max) / 2 else {
            throw CatalogProblem(file: source.file, message: "the locale has too much text")
        }
        if let place {
            index.replace(place, program: program, argumentCount: argumentCount)
            return true
        }
        let start = programs.append(key.bytes)
        let entry = KeyIndex.Entry(
            keyStart: start, keyCount: UInt32(key.bytes.count), program: program, argumentCount: argumentCount)
        index.insert(entry, in: programs.text)
        origins.append(file)
        return false
    }

    /// Nil only if ICU does not work.
    consuming func finish(_ locale: LocaleName) -> LocaleTable? {
        programs.trim()
        index.trim()
        return LocaleTable(locale, index, programs)
    }
}

/// Finds a table's translations by the bytes of their keys. Open addressing, at most half full.
struct KeyIndex {
    struct Entry {
        /// In the text of the table.
        let keyStart: UInt32
        let keyCount: UInt32
        var program: UInt32
        var argumentCount: Int
    }

    private(set) var entries: [Entry] = []
    /// Each is a place in `entries` plus 1; 0 is free.
    private var slots = [UInt32](repeating: 0, count: 8)

    static func hash(_ key: UnsafeBufferPointer<UInt8>) -> UInt64 { ByteHash.hash(UnsafeRawBufferPointer(key)) }

    /// The place in `entries` of a key with this hash.
    func find(_ key: UnsafeBufferPointer<UInt8>, hash: UInt64, in text: [UInt8]) -> Int? {
        let number = slots[slot(of: key, hash: hash, in: text)]
        return number == 0 ? nil : Int(number - 1)
    }

    /// Where the key is, or would be.
    private func slot(of key: UnsafeBufferPointer<UInt8>, hash: UInt64, in text: [UInt8]) -> Int {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] != 0, !isKey(entries[Int(slots[slot] - 1)], key, text) { slot = (slot + 1) & mask }
        return slot
    }

    /// Adds an entry whose key is not there yet.
    mutating func insert(_ entry: Entry, in text: [UInt8]) {
        entries.append(entry)
        var first = entries.count - 1
        if entries.count * 2 > slots.count {
            slots = [UInt32](repeating: 0, count: slots.count * 2)
            first = 0
        }
        for place in first..<entries.count {
            let free = key(of: entries[place], in: text).withUnsafeBufferPointer { key in
                slot(of: key, hash: Self.hash(key), in: text)
            }
            slots[free] = UInt32(place + 1)
        }
    }

    mutating func replace(_ place: Int, program: UInt32, argumentCount: Int) {
        entries[place].program = program
        entries[place].argumentCount = argumentCount
    }

    /// Releases unused capacity.
    mutating func trim() { entries = entries.withUnsafeBufferPointer { Array($0) } }

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
