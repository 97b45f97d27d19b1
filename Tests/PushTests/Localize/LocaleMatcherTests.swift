import PushmillTestSupport
import Testing

@testable import PushmillLocalization

@Suite("Matching locales as iOS does")
struct LocaleMatcherTests {
    struct Sample: CustomTestStringConvertible {
        let testDescription: String
        let localizations: String
        /// Lists by the localization that serves them. Blanks separate lists of one tag, semicolons longer ones.
        let expected: [(localization: String?, lists: String)]
    }

    private static let samples = [
        Sample(
            testDescription: "an app in many languages, some of them in several regions",
            localizations: """
                ar ca cs da de en en-AU en-GB es es-419 fi fr fr-CA he hi id it ja ko nb nl pl pt pt-PT ro ru sr sr-Latn \
                sv th tr vi zh-Hans zh-Hant zh-Hant-HK
                """,
            expected: [
                (
                    "en",
                    "en en-US EN-us en_US en-CA en-PH en-IL en-TH en-EG en-PG en-Latn-US en-US-u-hc-h12 en-US-POSIX"
                ),
                (
                    "en-GB",
                    "en-GB en_GB en-IN en-ZA en-IE en-SG en-HK en-DE en-CH en-FR en-PL en-UA en-150 en-MT hi-Latn-IN"
                ),
                ("en-AU", "en-AU en-NZ en-NF"),
                ("es", "es es-ES es-GQ es-EA"), ("es-419", "es-419 es-MX es-AR es-US es-CO es-CU es-JP es-CA"),
                ("fr", "fr fr-FR fr_FR fr-CH fr-BE fr-MA"), ("fr-CA", "fr-CA"),
                ("pt", "pt pt-BR"), ("pt-PT", "pt-PT pt-AO pt-MZ pt-CH pt-LU"),
                ("de", "de de-DE de-AT de-CH de-LI de-DE-1996"), ("nb", "nb nb-NO no no-NO nn nn-NO"),
                ("he", "he iw he-IL iw-IL"), ("id", "id in in-ID id-ID"), ("ro", "ro ro-MD mo"),
                ("sr", "sr sr-RS sr-Cyrl sr-Cyrl-BA sr-BA sr-ME"), ("sr-Latn", "sr-Latn sr-Latn-RS sh"),
                ("ar", "ar ar-EG ar-MA ar-001 ars"), ("hi", "hi hi-IN"), ("ca", "ca ca-ES ca-ES-valencia"),
                (
                    "zh-Hans",
                    "zh zh-CN zh-SG zh-US zh-AU zh-ID zh-Hans zh-Hans-HK zh-Hans-CN yue-CN yue-Hans wuu cmn zh_CN"
                ),
                ("zh-Hant", "zh-Hant zh-TW zh_Hant_TW zh-Hant-TW"),
                ("zh-Hant-HK", "zh-HK zh-MO zh-Hant-HK zh-Hant-MO yue yue-HK yue-Hant"),
                // As Java and POSIX write them.
                ("zh-Hant", "zh_TW_#Hant zh__#Hant zh_TW_#Hant-x-foo zh_TW_#Hant_x-java zh_TW.Big5"),
                ("zh-Hant-HK", "zh_HK_#Hant zh_HK_#Hant_u-nu-latn"),
                ("zh-Hans", "zh_HK_#Hans zh_CN_#Hans zh_CN.GB18030"),
                ("sr-Latn", "sr_RS_#Latn sr__#Latn sr_RS_WIN_#Latn sr_RS@latin sr_RS.UTF-8@latin sr-Latn_RS@latin"),
                ("sr", "sr_RS.UTF-8 sr_RS@cyrillic sr_RS_#Cyrl sr_RS@euro sr_Cyrl_RS@latin"),
                ("ca", "ca_ES.UTF-8@valencia ca_ES@euro"),
                ("de", "de_DE.UTF-8; xx, de_AT.ISO-8859-1@euro, es; de_DE_#Latn"),
                ("th", "th_TH_TH_#u-nu-thai th_TH.TIS-620"),
                (nil, "_GB _DE_#Latn #Latn .UTF-8 @latin C POSIX C.UTF-8 uz_UZ@cyrillic uz_UZ_#Cyrl"),
                (nil, "uk ku kmr be gl eu bs hr sk lb gsw af fy mk sq tl fil ms ka bn ur-PK uz az kk mn xx tlh und *"),
            ]),
        Sample(
            testDescription: "regions without their language",
            localizations: "en-US es-AR fr-CA pt-BR zh-TW sr-Cyrl uz-Latn no fil",
            expected: [
                ("en-US", "en en-US en-GB en-AU"), ("es-AR", "es es-MX es-ES es-419"), ("fr-CA", "fr fr-FR fr-CH"),
                ("pt-BR", "pt pt-BR pt-PT pt-AO"), ("zh-TW", "zh-TW zh-Hant zh-HK zh-MO yue"),
                ("sr-Cyrl", "sr sr-RS sr-ME"), ("uz-Latn", "uz uz-UZ uz-AF"),
                ("no", "no nb nn nb-NO"), ("fil", "fil tl tl-PH"),
                (nil, "zh zh-CN zh-US zh-Hans sr-Latn sh uz-Cyrl yue-CN de"),
                ("en-US", "pt-PT, en; pt-PT, en-GB, pt-BR; de, en"), ("pt-BR", "pt-PT, de; pt, en; pt-BR, en"),
            ]),
        Sample(
            testDescription: "siblings, with their language last",
            localizations: "es-AR es-MX es fr-CH fr-FR it-CH it-IT de ku uk",
            expected: [
                ("es", "es es-ES es-GQ"), ("es-MX", "es-MX"), ("es-AR", "es-AR"), ("fr-FR", "fr fr-BE fr-CA"),
                ("it-IT", "it it-VA"), ("it-CH", "it-CH"), ("fr-CH", "fr-CH; fr-BE, fr-CH; fr-CA, de, fr-CH"),
                ("ku", "ku kmr ku-TR"), ("uk", "uk uk-UA; xx, uk"),
                ("de", "de; ru, de;q=0.5, es;q=0.1; de;q=1.0,fr;q=0; fr;q=0, de; es;q=0.2, de;q=0.3; garbage!!, de"),
                ("de", "es;Q=0.2, de;Q=0.3; fr;Q=0, de"), (nil, "de;Q=0; de;p=1"),
                ("de", "de_AT@rg=dezzzz; ru, de_DE@calendar=japanese;numbers=latn, es"), (nil, "@; @rg=dezzzz"),
                (nil, "ru tr en pt; de;q=0; de;q=abc; es;de;q=1"),
            ]),
        Sample(
            testDescription: "the parent before the sibling",
            localizations: "es-AR es en en-GB",
            expected: [
                ("es", "es-MX es-CL es-419 es-US"), ("en-GB", "en-IN en-AU en-NZ"), ("en", "en-CA en-IL en-001"),
                ("es", "gl, es-MX; ca;q=0.9, es-MX;q=0.8, en;q=0.7"), ("en", "ru-RU, uk-UA, en-US, es"),
            ]),
        Sample(
            testDescription: "of two that are as near the first", localizations: "de en-AU en-NZ es-MX es-AR",
            expected: [("en-AU", "en-IN"), ("es-MX", "es-CL")]),
    ]

    @Test("The first wish that any localization serves gets the nearest localization", arguments: samples)
    func choice(sample: Sample) throws {
        let locales = try sample.localizations.split(separator: " ").map { try locale(String($0)) }
        let matcher = LocaleMatcher(locales)
        for (expected, lists) in sample.expected {
            for list in Self.separate(lists) {
                let match = Array(list.utf8).withUnsafeBufferPointer { matcher.bestMatch(for: $0) }
                expect(match.map { locales[$0.index].description }, is: expected, "for \(list)")
            }
        }
    }

    @Test("The samples contain at least 150 lists")
    func count() {
        let lists = Self.samples.flatMap { $0.expected.flatMap { Self.separate($0.lists) } }
        #expect(lists.count >= 150)
    }

    private static func separate(_ lists: String) -> [String] {
        lists.split(separator: "; ").flatMap { list -> [Substring] in
            list.contains(",") || list.contains(";") ? [list] : list.split(separator: " ")
        }.map(String.init)
    }

    @Test("A match names the wish that it serves, including its region")
    func wish() throws {
        let matcher = LocaleMatcher([try locale("en"), try locale("de")])
        let match = Array("xx, de-CH, en".utf8).withUnsafeBufferPointer { matcher.bestMatch(for: $0) }
        expect(match?.index, is: 1)
        expect(match?.wish.description, is: "de-CH")
    }

    @Test("Unusable lists match nothing", arguments: ["", " ", "garbage!!", "de;q=abc", "*", ",", "\0en", "é"])
    func unreadable(list: String) throws {
        let matcher = LocaleMatcher([try locale("en"), try locale("de")])
        #expect(Array(list.utf8).withUnsafeBufferPointer { matcher.bestMatch(for: $0) } == nil)
    }
}
