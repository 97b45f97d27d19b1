package import PushmillLocalization
package import PushmillPayload

/// Puts text in the recipient's language in the place of `title-loc-key`, `subtitle-loc-key` and `loc-key`. What it has
/// no translation for stays for the device.
package final class LocalizeStage: ImmediateStage {
    package let name = "localize"
    package let results: [StageResult] = [.failed("arguments"), .word("missing")]

    private let file: ReloadableFile<Catalog>
    private let localeSources: [ValueSource]
    private let current: ThreadLanes<Current>

    /// The catalog in force, and the choices that hold for it.
    private struct Current: Sendable {
        let version: Int
        let catalog: Catalog
        let defaultChoice: LocaleChoice
        /// By the recipient's list, those that came lately.
        var choices = RecentValues<LocaleChoice>(capacity: 4096)

        /// The version is asked for first: a reload in between is then noticed by the next message.
        init(_ file: ReloadableFile<Catalog>) {
            version = file.version
            catalog = file.value
            defaultChoice = catalog.defaultChoice
        }
    }

    /// The first of the sources that has a text names the recipient's locales.
    package init(catalog: ReloadableFile<Catalog>, localeSources: [ValueSource]) {
        file = catalog
        self.localeSources = localeSources
        current = ThreadLanes { Current(catalog) }
    }

    package func didReceive(_ content: inout NotificationContent, context: StageContext) -> StageResult {
        let members = content.alertMembers
        guard AlertText.allCases.contains(where: { key(of: $0, members, content) != nil }) else { return .skipped }
        let choice = choose(for: content, context)
        var hasWrongArguments = false
        var isMissing = false
        for text in AlertText.allCases {
            guard let key = key(of: text, members, content) else { continue }
            switch content.localize(text, key: key, arguments: members.arguments(of: text), for: choice) {
            case .ok: break
            case .missing: isMissing = true
            case .wrongArguments: hasWrongArguments = true
            }
        }
        if hasWrongArguments { return .failed("arguments") }
        return isMissing ? .word("missing") : .ok
    }

    private func key(of text: AlertText, _ members: AlertMembers, _ content: NotificationContent) -> JSONNode? {
        members.key(of: text).flatMap { content.document.hasText($0) ? $0 : nil }
    }

    private func choose(for content: NotificationContent, _ context: StageContext) -> LocaleChoice {
        for index in localeSources.indices {
            if let choice = localeSources[index].withBytes(content, context, { choose($0) }) { return choice }
        }
        return withCurrent { $0.defaultChoice }
    }

    private func choose(_ wishes: UnsafeBufferPointer<UInt8>) -> LocaleChoice {
        // What serves nobody is not kept either: others choose how long it is.
        guard wishes.count <= Catalog.longestWishes else { return withCurrent { $0.defaultChoice } }
        let known = withCurrent { $0.choices[UnsafeRawBufferPointer(wishes)] }
        if let known { return known }
        let catalog = current.withLock { $0.catalog }
        let choice = catalog.choice(for: wishes)
        current.withLock { current in
            if current.catalog === catalog { current.choices[UnsafeRawBufferPointer(wishes)] = choice }
        }
        return choice
    }

    /// Where the catalog was read again, every lane lets go of the old one, whether a thread uses that lane or not.
    private func withCurrent<R: Sendable>(_ body: (inout Current) -> R) -> R {
        let result: R? = current.withLock { $0.version == file.version ? body(&$0) : nil }
        if let result { return result }
        current.forEach { $0 = Current(file) }
        return current.withLock(body)
    }
}

extension LocalizeStage {
    func withText(
        of key: Span<UInt8>, _ content: NotificationContent, _ context: StageContext, _ body: (Span<UInt8>) -> Void
    ) -> Bool {
        let choice = choose(for: content, context)
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1024) { memory in
            var output = FormatOutput(memory)
            let result = key.withUnsafeBufferPointer {
                choice.localize($0, UnsafeBufferPointer(start: nil, count: 0), to: &output)
            }
            guard result == .ok, !output.isFull else { return false }
            body(output.text.span)
            return true
        }
    }
}

extension StageEntry {
    static let localize = StageEntry("localize") { settings in
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
                    resources.log(.warning, "\(path): \(more) more warnings, which `pushmill catalog check` lists")
                }
                return catalog
            }
            resources.watch(catalog)
            let stage = LocalizeStage(catalog: catalog, localeSources: localeSources)
            resources.texts.offer(stage.withText)
            return stage
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
