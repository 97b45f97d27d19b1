import FoundationEssentials
import Glibc
import PushmillLocalization
import PushmillPayload
import PushmillStages

extension Measurement {
    /// The cost of the stage: it reads key and arguments from the payload, chooses the locale as for a recipient seen
    /// lately, finds and formats the translation, edits the payload; then the edit is undone.
    package static func localize(messages: Int = 20_000) throws -> [Measurement] {
        let stage = try LocalizeSample.stage()
        return try LocalizeSample.alerts.map { name, locale, alert in
            let delivery = Delivery()
            var envelope = RecordEnvelope()
            envelope.headers = [RecordEnvelope.Header(name: Array("locale".utf8), value: Array(locale.utf8))]
            delivery.record.fill(envelope, topic: SourceTopic("push.events"))
            let context = Chain([ChainLink(stage)]).context(delivery)
            let payload = #"{"aps":{"alert":{\#(alert),"body":"x"},"mutable-content":1}}"#
            return try Self.stage("localize, \(name)", messages: messages, payload) {
                stage.didReceive(&$0, context: context)
            }
        }
    }
}

enum LocalizeSample {
    fileprivate static let alerts = [
        ("two arguments", "en", #""title-loc-key":"GROUP","title-loc-args":["{contact:c48213}","Sailing club"]"#),
        ("a number", "en", #""title-loc-key":"COUNT","title-loc-args":["{contact:c48213}","1234567"]"#),
        ("a plural", "ru", #""title-loc-key":"PHOTOS","title-loc-args":["{contact:c48213}","23"]"#),
        ("the default's text", "ru", #""title-loc-key":"COUNT","title-loc-args":["{contact:c48213}","5"]"#),
    ]

    private static let files = [
        ("en.strings", #""GROUP" = "%1$@ in %2$@"; "COUNT" = "%@ has %d";"#, "en"),
        ("ru.strings", #""GROUP" = "%1$@ в %2$@";"#, "ru"),
        (
            "ru.stringsdict",
            """
            <plist><dict><key>PHOTOS</key><dict><key>NSStringLocalizedFormatKey</key><string>%1$@: %2$#@n@</string>
            <key>n</key><dict><key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>
            <key>one</key><string>%d фото</string><key>few</key><string>%d фотки</string>
            <key>other</key><string>%d фоток</string></dict></dict></dict></plist>
            """, "ru"
        ),
    ]

    static func stage() throws -> LocalizeStage {
        var reader = CatalogReader()
        for (path, text, locale) in files { reader.read(Array(text.utf8), of: path, locale: LocaleName(locale)) }
        let catalog = try Catalog(reader.finish("sample"), of: "sample", defaultLocale: .english)
        let file = try ReloadableFile(path: "sample") { _, _ in CatalogInUse(catalog) }
        return LocalizeStage(catalog: file, localeSources: [ValueSource("header:locale")].compactMap { $0 })
    }
}

/// The cost of loading the catalog of a large app: 2,000 keys in each of 70 locales.
package struct CatalogLoading: Sendable {
    package let seconds: Double
    /// How much the process grew, including what the reader left behind.
    package let megabytes: Double

    package init() throws {
        let clock = ContinuousClock()
        let before = Self.residentMegabytes()
        var duration = Duration.zero
        var reader = CatalogReader()
        for locale in Self.locales {
            let contents = Self.strings(locale)
            duration += clock.measure { reader.read(contents, of: "\(locale).strings", locale: locale) }
        }
        let start = clock.now
        let tables = reader.finish("sample")
        let catalog = try Catalog(tables, of: "sample", defaultLocale: .english)
        duration += clock.now - start
        seconds = duration / .seconds(1)
        megabytes = withExtendedLifetime(catalog) { max(0, Self.residentMegabytes() - before) }
    }

    private static let locales = """
        af am ar az be bg bn bs ca cs cy da de el en en-GB es es-419 et eu fa fi fil fr fr-CA ga gl gu he hi hr hu hy id
        is it ja ka kk km kn ko lt lv mk ml mn mr ms my nb ne nl pa pl pt pt-PT ro ru si sk sl sq sr sv sw ta te th tr
        """.split { $0.isWhitespace }.compactMap { LocaleName($0) }

    private static func strings(_ locale: LocaleName) -> [UInt8] {
        var text: [UInt8] = []
        for key in 0..<2000 {
            text += "/* A comment by a translator. */\n\"NOTIFICATION_KEY_\(key)\" = ".utf8
            text += "\"Locale \(locale) says of %1$@ what it has to say: „%2$@“ (\(key)).\";\n\n".utf8
        }
        return text
    }

    private static func residentMegabytes() -> Double {
        let fields = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return (fields?[1]).flatMap { Double($0) }.map { $0 * Double(sysconf(Int32(_SC_PAGESIZE))) / 1e6 } ?? 0
    }
}
