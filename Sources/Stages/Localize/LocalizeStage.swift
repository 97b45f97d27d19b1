package import PushmillLocalization
package import PushmillPayload

/// Replaces `title-loc-key`, `subtitle-loc-key` and `loc-key` with text in the recipient's language. A key without a
/// translation stays for the device.
package final class LocalizeStage: ImmediateStage {
    package let name = "localize"
    package let results: [StageResult] = [.failed("arguments"), .word("missing")]

    private let catalog: ReloadableFile<CatalogInUse>
    private let localeSources: [ValueSource]

    /// The first of `localeSources` that has a text names the recipient's locales.
    package init(catalog: ReloadableFile<CatalogInUse>, localeSources: [ValueSource]) {
        self.catalog = catalog
        self.localeSources = localeSources
    }

    package func didReceive(_ content: inout NotificationContent, context: StageContext) -> StageResult {
        guard let alert = content.alert else { return .skipped }
        var choice: LocaleChoice?
        var hasWrongArguments = false
        var isMissing = false
        // Not for each of `allCases`, an array that is made anew.
        func localize(_ text: AlertText) {
            guard let key = content.key(of: text, in: alert) else { return }
            let arguments = content.argumentsNode(of: text, in: alert)
            let chosen = choice ?? choose(for: content, context)
            choice = chosen
            switch content.localize(text, key: key, arguments: arguments, for: chosen) {
            case .ok: break
            case .missing: isMissing = true
            case .wrongArguments: hasWrongArguments = true
            }
        }
        localize(.title)
        localize(.subtitle)
        localize(.body)
        guard choice != nil else { return .skipped }
        if hasWrongArguments { return .failed("arguments") }
        return isMissing ? .word("missing") : .ok
    }

    func choose(for content: NotificationContent, _ context: StageContext) -> LocaleChoice {
        for index in localeSources.indices {
            if let choice = localeSources[index].withBytes(content, context, { choose($0) }) { return choice }
        }
        return catalog.withValue { $0.defaultChoice }
    }

    func choose(_ wishes: UnsafeBufferPointer<UInt8>) -> LocaleChoice {
        // A list too long to be served is not cached either: producers choose its length.
        guard wishes.count <= Catalog.longestWishes else { return catalog.withValue { $0.defaultChoice } }
        let known = catalog.withValue { $0.choices[UnsafeRawBufferPointer(wishes)] }
        if let known { return known }
        let asked = catalog.withValue { $0.catalog }
        let match = asked.match(for: wishes)
        return match.key.withUnsafeBytes { key in
            let shared = catalog.withValue { $0.shared[key] }
            let choice = shared.flatMap { $0.catalog === asked ? $0 : nil } ?? asked.choice(of: match)
            catalog.withValue { current in
                guard current.catalog === asked else { return }
                current.choices[UnsafeRawBufferPointer(wishes)] = choice
                current.shared[key] = choice
            }
            return choice
        }
    }
}

/// A catalog, and the choices made in it. Each lane of threads has its own choices: with shared ones, all threads would
/// contend for one reference count.
package struct CatalogInUse: Sendable {
    let catalog: Catalog
    lazy var defaultChoice = catalog.defaultChoice
    /// The most recent choices, by the recipient's list of locales.
    var choices = RecentValues<LocaleChoice>(capacity: 4096)
    /// The same by match: there are far more lists than matches, and a choice takes longer than a match.
    var shared = RecentValues<LocaleChoice>(capacity: 1024)

    package init(_ catalog: Catalog) { self.catalog = catalog }
}

/// The catalog's texts in the recipient's language, for stages that show a text of their own.
extension StageContext {
    /// False if the chain has no catalog or it lacks the text.
    func withText(
        of key: Span<UInt8>, for content: NotificationContent, _ body: (Span<UInt8>) -> Void
    ) -> Bool {
        guard let choice = chain.catalog?.choose(for: content, self) else { return false }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1024) { memory in
            var output = FormatOutput(memory)
            let noArguments = UnsafeBufferPointer<FormatArgument>(start: nil, count: 0)
            let result = key.withUnsafeBufferPointer { choice.localize($0, noArguments, to: &output) }
            guard result == .ok, !output.isFull else { return false }
            body(output.text.span)
            return true
        }
    }

    /// The text, or the key itself if there is none.
    func text(of key: [UInt8], for content: NotificationContent) -> [UInt8] {
        var text = key
        _ = withText(of: key.span, for: content) { found in text = found.withUnsafeBufferPointer { Array($0) } }
        return text
    }
}

extension StageEntry {
    static let localize = StageEntry("localize", neverWaits: true) { settings in
        let folder = settings.required("catalog", .file)
        let defaultLocale = settings.value("default-locale", .locale, default: .english)
        let localeSources = settings.list("locale-from", .source, default: ValueSource.usualLocales)
        guard let folder else { return nil }
        return { resources in
            let catalog = try ReloadableFile(path: folder) { path, _ in
                let catalog = try Catalog(folder: path, defaultLocale: defaultLocale)
                let shown = catalog.warnings.prefix(10)
                for warning in shown { resources.log(.warning, "\(warning)") }
                if catalog.warnings.count > shown.count {
                    let more = catalog.warnings.count - shown.count
                    resources.log(.warning, "\(path): \(more) more warnings: `pushmill catalog check` lists them")
                }
                return CatalogInUse(catalog)
            }
            resources.watch(catalog)
            return LocalizeStage(catalog: catalog, localeSources: localeSources)
        }
    }
}

extension ValueSource {
    /// Where producers put the recipient's locales unless the configuration says otherwise.
    fileprivate static let usualLocales = ["header:locale", "/locale"].compactMap(ValueSource.init)
}

extension SettingFormat where Value == LocaleName {
    package static var locale: Self { Self(expected: "a locale such as en or pt-BR") { LocaleName($0) } }
}
