/// Whose texts serve a locale next, as iOS has it: CLDR's parents, and those that Apple puts before them.
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
        // What is written in another script than the language usually is, readers of that do not read.
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

    /// The regions whose parent is none of their truncations.
    private static let regions = [
        (
            "en_GB",
            """
            AG AI AU BB BD BM BN BS BW BZ DG DM FJ FK GD GG GH GI GM GY HK IE IM IN IO JE JM KE KI KN KY LC LK LS MO MS \
            MT MU MV MW MY NA NG PK PN SB SC SD SG SH SL SS SZ TC TO TT TV TZ UG VC VG VU ZA ZM ZW
            """
        ),
        ("en_AU", "CC CK CX NF NR NU NZ PG WS"), ("en_001", "CM ER FM IL LR MG PW RW SX TK"),
        ("en_150", "AT BE CH CY DE DK FI NL SE SI"),
        ("es_419", "AR BO BR BZ CL CO CR CU DO EC GT HN MX NI PA PE PR PY SV US UY VE"),
        ("pt_PT", "AO CH CV FR GQ GW LU MO MZ ST TL"),
    ]
}
