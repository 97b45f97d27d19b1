extension Measurement {
    /// What one text in the recipient's language costs: its key and arguments read from the payload, the translation
    /// found and put together, the payload edited, and the edit undone.
    package static func localize(messages: Int = 20_000) throws -> [Measurement] {
        var reader = CatalogReader()
        for (path, text, locale) in LocalizeSample.files {
            reader.read(Array(text.utf8), of: path, locale: LocaleName(locale))
        }
        let catalog = try Catalog(reader.finish("sample"), of: "sample", defaultLocale: .english)
        return try LocalizeSample.alerts.map { name, locale, alert in
            var content = try NotificationContent(#"{"aps":{"alert":{\#(alert),"body":"x"},"mutable-content":1}}"#)
            let table = Array(locale.utf8).withUnsafeBufferPointer { catalog.table(for: $0) }
            let mark = content.mark()
            return Measurement("localize, \(name)", messages: messages) {
                let result = content.localize(.title, with: catalog, table: table)
                precondition(result == .ok, "the sample is localized")
                content.rollback(to: mark)
            }
        }
    }
}

private enum LocalizeSample {
    static let files = [
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

    static let alerts = [
        ("two arguments", "en", #""title-loc-key":"GROUP","title-loc-args":["{contact:c48213}","Sailing club"]"#),
        ("a number", "en", #""title-loc-key":"COUNT","title-loc-args":["{contact:c48213}","1234567"]"#),
        ("a plural", "ru", #""title-loc-key":"PHOTOS","title-loc-args":["{contact:c48213}","23"]"#),
        ("the default's text", "ru", #""title-loc-key":"COUNT","title-loc-args":["{contact:c48213}","5"]"#),
    ]
}
