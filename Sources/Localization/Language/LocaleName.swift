import CPushmillICU

/// A locale by its BCP 47 tag.
package struct LocaleName: Sendable, Hashable, CustomStringConvertible {
    /// As written, with hyphens.
    package let description: String
    /// An alias is replaced by its target, and the script is included where the region implies another than the
    /// language alone (`zh_Hant_TW`).
    package let icuName: String
    /// What `icuName` begins with.
    let language: String
    /// Empty unless it is in the name.
    let script: String
    let region: String

    package static let english = LocaleName(Parts("en"), description: "en")

    /// Accepts underscores for hyphens, as in folder names (`pt_BR.lproj`). Nil if it is not a language tag.
    package init?(_ text: some StringProtocol) {
        let tag = String(text.map { $0 == "_" ? "-" : $0 })
        let name = icuText { pushmill_icu_locale(tag, Int32(clamping: tag.utf8.count), $0) }
        guard let name else { return nil }
        var parts = Parts(name)
        if let alias = icuText({ pushmill_icu_language_alias(parts.language, $0) }) { parts.replaceLanguage(by: alias) }
        if parts.script.isEmpty { parts.script = Self.scripts["\(parts.language)_\(parts.region)"] ?? "" }
        self.init(parts, description: tag)
    }

    /// The regions that say, as on iOS, in which script their language is read.
    private static let scripts = ["zh_TW": "Hant", "zh_HK": "Hant", "zh_MO": "Hant", "yue_CN": "Hans"]

    private init(_ parts: Parts, description: String) {
        self.description = description
        icuName = parts.name
        language = parts.language
        script = parts.script
        region = parts.region
    }

    /// Ever shorter names: `zh-Hant-HK` has `zh-Hant`, `zh`; and so has `zh-HK`, which is the same locale.
    package var truncations: [LocaleName] {
        guard let hyphen = description.lastIndex(of: "-"), let shorter = LocaleName(description[..<hyphen]) else {
            return []
        }
        let rest = [shorter] + shorter.truncations
        guard !region.isEmpty, shorter.region.isEmpty, shorter.script != script,
            let withoutRegion = LocaleName("\(language)-\(script)")
        else { return rest }
        return [withoutRegion] + rest
    }

    /// For numbers in texts of `other`, as on iOS: in that language, as they are written where this locale's readers
    /// are, in their digits if it is their language. Nil if neither region nor digits are known.
    func writingNumbers(in other: LocaleName) -> LocaleName? {
        // `rg` names a region that takes this one's place for everything but texts: `dezzzz`.
        let override = keyword("rg").map { $0.prefix(2).uppercased() }
        let digits = keyword("numbers")
        if language == other.language, override == nil { return region.isEmpty && digits == nil ? nil : self }
        guard let region = override ?? (region.isEmpty ? nil : region) else { return nil }
        let tag = [other.language, other.script, region].filter { !$0.isEmpty }
        let own = language == other.language ? digits.map { ["u", "nu", String($0)] } : nil
        return LocaleName((tag + (own ?? [])).joined(separator: "-"))
    }

    private func keyword(_ name: String) -> Substring? {
        let keywords = icuName.split(separator: "@", maxSplits: 1).dropFirst().first?.split(separator: ";")
        return keywords?.first { $0.hasPrefix("\(name)=") }?.dropFirst(name.count + 1)
    }

    /// Without variants and keywords.
    var baseName: String { Self.joined(language, script, region) }

    /// True if the region is the one that most speakers of the language live in.
    var isOfUsualRegion: Bool { Parts(Self.joined(language, script)).likely?.region == region }

    private static func joined(_ subtags: String...) -> String {
        subtags.filter { !$0.isEmpty }.joined(separator: "_")
    }

    /// The script that the language has unless a name says otherwise.
    static func usualScript(of language: String) -> String? { Parts(language).likely?.script }

    /// The code of a script by its code or its English name, in any case.
    static func script(_ name: Substring) -> Substring? {
        pushmill_icu_script(String(name)).map { Substring(String(cString: $0)) }
    }

    package static func == (left: LocaleName, right: LocaleName) -> Bool { left.icuName == right.icuName }
    package func hash(into hasher: inout Hasher) { hasher.combine(icuName) }

    /// The subtags of one of ICU's names: `zh_Hant_TW_VARIANT@numbers=latn`.
    private struct Parts {
        var language = ""
        var script = ""
        var region = ""
        /// Variants and keywords, as they came.
        var rest = ""

        init(_ name: String) {
            let subtags = name.prefix { $0 != "@" }.split(separator: "_", omittingEmptySubsequences: false)
            rest = String(name[subtags[subtags.count - 1].endIndex...])
            language = String(subtags[0])
            for (index, subtag) in subtags.enumerated().dropFirst() {
                if index == 1, subtag.count == 4 {
                    script = String(subtag)
                } else if region.isEmpty, (2...3).contains(subtag.count) {
                    region = String(subtag)
                } else {
                    rest = "_" + name[subtag.startIndex...]
                    break
                }
            }
        }

        /// The name's own script and region take precedence over the alias's.
        mutating func replaceLanguage(by alias: String) {
            let other = Parts(alias)
            language = other.language
            if script.isEmpty { script = other.script }
            if region.isEmpty { region = other.region }
        }

        var name: String { joined(language, script, region) + rest }

        var likely: Parts? {
            icuText { pushmill_icu_likely(joined(language, script, region), $0) }.map { Parts($0) }
        }
    }
}

/// The text that ICU writes; nil if it writes none.
func icuText(_ write: (UnsafeMutablePointer<CChar>) -> Int32) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(pushmill_icu_name_capacity)) { text in
        guard let base = text.baseAddress else { return nil }
        let count = Int(write(base))
        return count > 0 ? String(decoding: text[..<count].lazy.map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
    }
}
