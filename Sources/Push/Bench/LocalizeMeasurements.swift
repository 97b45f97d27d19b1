extension Measurement {
    /// What the stage costs: key and arguments read from the payload, the locale chosen as for a recipient seen lately,
    /// the translation found and put together, the payload edited; and undoing the edit.
    package static func localize(messages: Int = 20_000) throws -> [Measurement] {
        try LocalizeSample.alerts.map { name, locale, alert in
            var message = try LocalizeSample.Message(locale: locale, alert: alert)
            return try Measurement("localize, \(name)", messages: messages) { try message.localize() }
        }
    }
}

package enum LocalizeSample {
    package static let alerts = [
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
        let file = try ReloadableFile(path: "sample") { _, _ in catalog }
        return LocalizeStage(catalog: file, localeSources: [ValueSource("header:locale")].compactMap { $0 })
    }

    /// One message in front of the stage, again and again.
    package struct Message {
        package struct NotLocalized: Error { let result: StageResult }

        private let stage: LocalizeStage
        private let delivery = Delivery()
        private let context: StageContext
        private var content: NotificationContent
        private let untouched: JSONDocument.Mark

        package init(locale: String, alert: String) throws {
            stage = try LocalizeSample.stage()
            var envelope = RecordEnvelope()
            envelope.headers = [RecordEnvelope.Header(name: Array("locale".utf8), value: Array(locale.utf8))]
            delivery.record.fill(envelope, topic: SourceTopic("push.events"))
            context = Chain([ChainLink(stage)]).context(delivery)
            content = try NotificationContent(#"{"aps":{"alert":{\#(alert),"body":"x"},"mutable-content":1}}"#)
            untouched = content.mark()
        }

        package mutating func localize() throws(NotLocalized) {
            let result = stage.didReceive(&content, context: context)
            guard case .ok = result else { throw NotLocalized(result: result) }
            content.rollback(to: untouched)
        }
    }
}
