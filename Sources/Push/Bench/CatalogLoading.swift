import Glibc

/// What it takes to load the catalog of a large app: 2,000 keys in each of 70 locales.
package struct CatalogLoading: Sendable {
    package let seconds: Double
    /// By how much the process has grown, the reader's leftovers included.
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
        megabytes = withExtendedLifetime(catalog) { Self.residentMegabytes() - before }
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
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 128)
        guard fgets(&text, Int32(text.count), file) != nil else { return 0 }
        let fields = String(decoding: text.map(UInt8.init(bitPattern:)), as: UTF8.self).split(separator: " ")
        return Double(fields[1]).map { $0 * Double(sysconf(Int32(_SC_PAGESIZE))) / 1e6 } ?? 0
    }
}
