/// The translations of one locale, compiled. Immutable, and shared by all shards.
final class LocaleTable: Sendable {
    let locale: LocaleName
    private let index: KeyIndex
    private let renderer: FormatRenderer

    init(locale: LocaleName, index: KeyIndex, renderer: FormatRenderer) {
        self.locale = locale
        self.index = index
        self.renderer = renderer
    }

    var rules: PluralRules { renderer.rules }
    var count: Int { index.entries.count }

    /// `hash` is the key's by `KeyIndex.hash`.
    func entry(_ key: UnsafeBufferPointer<UInt8>, hash: UInt64) -> KeyIndex.Entry? {
        index.find(key, hash: hash, in: renderer.programs.text).map { index.entries[$0] }
    }

    /// Appends the text, its numbers as a region writes them if one is given. False, with only a part appended, where the
    /// arguments are not what the translation needs. What it does not need is ignored: translations of one key use
    /// different numbers of them.
    func append(
        _ entry: KeyIndex.Entry, _ arguments: UnsafeBufferPointer<FormatArgument>, _ regional: NumberSymbols?,
        to output: inout FormatOutput
    ) -> Bool {
        arguments.count >= entry.signature.count
            && renderer.append(program: entry.program, arguments, regional, to: &output)
    }

    // MARK: - For reports

    func entry(_ key: ArraySlice<UInt8>) -> KeyIndex.Entry? {
        key.withUnsafeBufferPointer { entry($0, hash: KeyIndex.hash($0)) }
    }

    var keys: some Sequence<(key: ArraySlice<UInt8>, entry: KeyIndex.Entry)> {
        index.entries.lazy.map { [index, text = renderer.programs.text] in (index.key(of: $0, in: text), $0) }
    }

    /// The categories that each plural of a translation has forms for.
    func pluralForms(of entry: KeyIndex.Entry) -> [Set<PluralCategory>] {
        pieces(of: entry).filter { $0.kind == .plural }.map { Set(renderer.programs.forms(of: $0).map(\.category)) }
    }

    /// The arguments that a translation uses in this way, from 0.
    func arguments(of entry: KeyIndex.Entry, _ kind: FormatPiece.Kind) -> Set<UInt8> {
        Set(pieces(of: entry).filter { $0.kind == kind }.map(\.argument))
    }

    private func pieces(of entry: KeyIndex.Entry) -> [FormatPiece] {
        renderer.programs.allPieces(from: entry.program)
    }
}
