/// Finds the locale of an app that iOS would choose for a recipient's list: the one nearest to the first wish that any
/// locale serves. Near means few steps to a common parent.
package struct LocaleMatcher: Sendable {
    private let candidates: [Candidate]

    private struct Candidate {
        let name: LocaleName
        let parents: [String]
        /// 1 for a region other than the language's own, which is one step farther from its parents; else 0.
        let firstStep: Int
    }

    /// Among equally good locales, the first wins.
    package init(_ locales: [LocaleName]) {
        candidates = locales.map { name in
            let isForeign = !name.region.isEmpty && !name.isOfUsualRegion && name.baseName != "es_MX"
            return Candidate(name: name, parents: LocaleParents.chain(of: name), firstStep: isForeign ? 1 : 0)
        }
    }

    /// Brazil's Portuguese serves a reader of Portugal's only if no other wish in the list can be served.
    private static let lastResort = 100

    /// The index of the locale, and the first wish that any locale serves; its region is the recipient's.
    package typealias Match = (index: Int, wish: LocaleName)

    /// The locale that serves a BCP 47 tag or an Accept-Language list; nil if none does.
    package func bestMatch(for list: UnsafeBufferPointer<UInt8>) -> Match? {
        let wishes = Self.wishes(in: list)
        var spare: Match?
        for wish in wishes {
            guard let (index, distance) = nearest(to: wish) else { continue }
            guard distance >= Self.lastResort else {
                let sibling = distance > 0 ? exactSibling(of: index, wishes) : nil
                return (index: sibling ?? index, wish: wish)
            }
            spare = spare ?? (index: index, wish: wish)
        }
        return spare
    }

    private func nearest(to wish: LocaleName) -> (index: Int, distance: Int)? {
        let parents = LocaleParents.chain(of: wish)
        var best: (index: Int, distance: Int)?
        for (index, candidate) in candidates.enumerated() {
            guard let distance = Self.distance(from: wish, parents, to: candidate) else { continue }
            if distance < best?.distance ?? .max { best = (index, distance) }
        }
        return best
    }

    /// Nil if they have no parent in common.
    private static func distance(from wish: LocaleName, _ parents: [String], to candidate: Candidate) -> Int? {
        if parents[0] == candidate.parents[0] { return 0 }
        for (steps, parent) in parents.enumerated() {
            guard let others = candidate.parents.firstIndex(of: parent) else { continue }
            let isOfLastResort = wish.baseName == "pt_PT" && candidate.name.baseName == "pt_BR"
            let otherLanguage = isOfLastResort ? lastResort : wish.language == candidate.name.language ? 0 : 1
            return steps + (others > 0 ? others + candidate.firstStep : 0) + otherLanguage
        }
        return nil
    }

    /// For a locale of another region: the last wish in its language that a locale matches exactly. Chinese is
    /// excluded, as on iOS.
    private func exactSibling(of index: Int, _ wishes: [LocaleName]) -> Int? {
        let found = candidates[index].name
        guard !found.region.isEmpty, found.language != "zh" else { return nil }
        for wish in wishes.reversed() where wish.language == found.language {
            let index = candidates.firstIndex { $0.name.baseName == wish.baseName }
            if let index { return index }
        }
        return nil
    }

    /// The tags, the most wanted first, without invalid ones and those of weight 0.
    static func wishes(in list: UnsafeBufferPointer<UInt8>) -> [LocaleName] {
        let items = list.split(separator: UInt8(ascii: ",")).compactMap { item -> (wish: LocaleName, weight: Double)? in
            // A device's own identifier may end in keywords: `th_TH@calendar=gregorian;numbers=latn`.
            let sides = String(decoding: item, as: UTF8.self).filter { $0 != " " && $0 != "\t" }
                .split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
            let parts = sides[0].split(separator: ";", omittingEmptySubsequences: false)
            let modifier = sides.count > 1 ? sides[1] : ""
            let tag = tag(parts[0], modifier: modifier) + extensions(modifier)
            guard let wish = LocaleName(tag), let weight = weight(parts.dropFirst()), weight > 0 else { return nil }
            return (wish, weight)
        }
        // A stable sort: wishes of equal weight keep their order.
        return items.enumerated().sorted { ($1.element.weight, $0.offset) < ($0.element.weight, $1.offset) }
            .map(\.element.wish)
    }

    /// Moves the script to its place in a tag: Java's names have it last (`zh_TW_#Hant_x-java`), and POSIX names after
    /// the encoding (`sr_RS.UTF-8@latin`).
    private static func tag(_ name: Substring, modifier: Substring) -> String {
        let sides = name.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let own = sides[0].prefix { $0 != "." }.split(omittingEmptySubsequences: false) { "_-".contains($0) }
        guard let language = own.first else { return "" }
        var others = own.dropFirst()
        var script = modifier
        if sides.count > 1 {
            // Java's variants are not those of a tag: `th_TH_TH_#u-nu-thai`.
            others = others.prefix(1).filter { !$0.isEmpty }[...]
            script = sides[1].prefix { !"_-".contains($0) }
        }
        if let code = LocaleName.script(script), others.first?.count != 4 { others.insert(code, at: others.startIndex) }
        return ([language] + others).joined(separator: "-")
    }

    /// Of a device's keywords, those that say how it writes numbers.
    private static func extensions(_ keywords: Substring) -> String {
        keywords.split(separator: ";").reduce(into: "") { tag, keyword in
            for (name, key) in [("numbers=", "nu"), ("rg=", "rg")] where keyword.hasPrefix(name) {
                tag += "\(tag.isEmpty ? "-u" : "")-\(key)-\(keyword.dropFirst(name.count))"
            }
        }
    }

    private static func weight(_ parameters: ArraySlice<Substring>) -> Double? {
        guard let parameter = parameters.first else { return 1 }
        guard parameters.count == 1, parameter.hasPrefix("q=") || parameter.hasPrefix("Q=") else { return nil }
        return Double(parameter.dropFirst(2))
    }
}

/// The locales whose texts serve another next, as on iOS: CLDR's parents, and those that Apple puts before them.
enum LocaleParents {
    /// The locale itself without variants and keywords, its parent, and so on.
    static func chain(of locale: LocaleName) -> [String] {
        var chain = [locale.baseName]
        while let parent = parent(of: chain[chain.count - 1]) { chain.append(parent) }
        return chain
    }

    private static func parent(of name: String) -> String? {
        if let parent = parents[name] { return parent }
        guard let end = name.lastIndex(of: "_") else { return nil }
        let shorter = String(name[..<end])
        let last = name[name.index(after: end)...]
        // Not for a locale in an unusual script: its readers do not read the language's usual one.
        guard last.count != 4 || LocaleName.usualScript(of: shorter) == String(last) else { return nil }
        return shorter
    }

    private static let parents: [String: String] = {
        var parents = [
            "ars": "ar", "nb": "no", "nn": "no", "hi_Latn": "en_IN", "wuu": "zh_Hans", "wuu_Hant": "zh_Hant",
            "yue": "yue_Hant", "yue_Hant": "yue_HK", "yue_HK": "zh_Hant_HK", "yue_Hans": "zh_Hans",
            "zh_Hant_MO": "zh_Hant_HK", "en_GB": "en_001", "en_150": "en_GB",
        ]
        for (parent, regions) in regions {
            let language = parent.prefix { $0 != "_" }
            for region in regions.split(separator: " ") { parents["\(language)_\(region)"] = parent }
        }
        return parents
    }()

    /// The regions whose parent is not one of their truncations.
    private static let regions = [
        (
            "en_GB",
            """
            AI AU BB BD BM BN BS BW BZ DG DM FJ FK GD GG GH GI GM GY HK IE IM IN IO JE JM KE KI KN KY LC LK LS MO MS \
            MT MU MV MW MY NA NG PK SB SC SD SG SH SL SS SZ TC TO TT TV TZ UG VC VG VU ZA ZM ZW
            """
        ),
        (
            "en_001",
            """
            AF AG AM AO AR AW AX AZ BF BH BJ BL BO BQ BR CD CF CG CI CM CR CU CV DO DZ EC EG EH ER ET FM GA GB GF GN \
            GP GQ GT HN HT ID IL IQ JO KG KH KM KW KZ LA LB LR LY MA MF MG ML MM MN MQ MR MZ NC NE NI NP OM PE PF PG \
            PM PN PS PW QA RE RW SJ SM SN SO ST SV SX SY TD TF TG TH TJ TK TL TM TN UY UZ VE VN WF YE YT
            """
        ),
        ("en_AU", "CC CK CX NF NR NU NZ WS"),
        (
            "en_150",
            """
            AD AL AT BA BE BG BY CH CY CZ DE DK EE ES FI FO FR GE GL GR HR HU IS IT LI LT LU LV MC MD ME MK NL NO PL \
            PT RO RS RU SE SI SK UA VA
            """
        ),
        (
            "es_419",
            """
            AG AI AR AW BB BL BM BO BQ BR BS BZ CA CL CO CR CU CW DM DO EC FK GD GF GL GP GT GY HN HT JP KN KY LC MF \
            MQ MS MX NI PA PE PM PR PY SR SV SX TC TT US UY VC VE VG VI
            """
        ),
        ("pt_PT", "AO CH CV FR GQ GW LU MO MZ ST TL"),
    ]
}
