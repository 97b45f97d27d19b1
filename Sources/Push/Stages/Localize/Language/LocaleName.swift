import CICU

/// A locale by its BCP 47 tag.
package struct LocaleName: Sendable, Hashable, CustomStringConvertible {
    /// As written, with hyphens.
    package let description: String
    /// Canonical: two names of one locale have the same.
    package let icuName: String

    package static let english = LocaleName(description: "en", icuName: "en")

    private init(description: String, icuName: String) {
        self.description = description
        self.icuName = icuName
    }

    /// Takes underscores for hyphens, as folders have them (`pt_BR.lproj`). Nil for what is no language tag.
    package init?(_ text: some StringProtocol) {
        description = String(text.map { $0 == "_" ? "-" : $0 })
        var name = [CChar](repeating: 0, count: Int(ULOC_FULLNAME_CAPACITY))
        var status = U_ZERO_ERROR
        let count = pushmill_icu_locale(description, Int32(clamping: description.utf8.count), &name, &status)
        guard count > 0 else { return nil }
        icuName = String(decoding: name.prefix(Int(count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// From the next shorter one on: `zh-Hant-HK` has `zh-Hant`, `zh`.
    package var truncations: [LocaleName] {
        guard let hyphen = description.lastIndex(of: "-"), let shorter = LocaleName(description[..<hyphen]) else {
            return []
        }
        return [shorter] + shorter.truncations
    }

    package static func == (left: LocaleName, right: LocaleName) -> Bool { left.icuName == right.icuName }
    package func hash(into hasher: inout Hasher) { hasher.combine(icuName) }
}
