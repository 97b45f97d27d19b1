package import PushmillPayload

/// More text than any payload may have is not worth its memory.
private let maximumTextCount = 1 << 20

extension NotificationContent {
    package func hasLocalizationKey(of text: AlertText) -> Bool {
        withLocalizationKey(of: text) { !$0.isEmpty } ?? false
    }

    /// Sets the text to the translation of its key. Whatever else comes of it, the key stays.
    package mutating func localize(_ text: AlertText, for choice: LocaleChoice) -> Localization {
        // The first attempt is on the stack.
        var capacity = 1024
        while capacity <= maximumTextCount {
            let result: Localization? = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { memory in
                var output = FormatOutput(memory)
                let result = translate(text, for: choice, to: &output)
                if output.isFull { return nil }
                if result == .ok {
                    setLocalized(text, to: output.text.span, isDecrypted: hasDecryptedArgument(of: text))
                }
                return result
            }
            if let result { return result }
            capacity *= 16
        }
        return .wrongArguments
    }

    private func translate(
        _ text: AlertText, for choice: LocaleChoice, to output: inout FormatOutput
    ) -> Localization {
        withArguments(of: text) { arguments in
            guard let arguments else { return .wrongArguments }
            return withLocalizationKey(of: text) { key in
                key.withUnsafeBufferPointer { choice.catalog.localize($0, arguments, for: choice, to: &output) }
            } ?? .missing
        }
    }

    private func hasDecryptedArgument(of text: AlertText) -> Bool {
        guard let arguments = localizationArguments(of: text) else { return false }
        var isFound = false
        document.forEachChild(of: arguments) { if isDecrypted($0) { isFound = true } }
        return isFound
    }

    /// Those up to the first that is neither a string nor a number, and no more than a format can name. Nil where there
    /// is no list.
    private func withArguments<R>(
        of text: AlertText, _ body: (UnsafeBufferPointer<FormatArgument>?) -> R
    ) -> R {
        guard let alert, let list = document.member(text.argumentsMember, of: alert) else {
            return body(UnsafeBufferPointer(start: nil, count: 0))
        }
        guard document.kind(of: list) == .array else { return body(nil) }
        let count = min(document.childCount(of: list), FormatArgument.maximumCount)
        // No text is longer than it is spelled.
        let capacity = document.renderedByteCount(of: list)
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { memory in
            withUnsafeTemporaryAllocation(of: FormatArgument.self, capacity: count) { arguments in
                var texts = FormatOutput(memory)
                var filled = 0
                var room = count
                document.forEachChild(of: list) { child in
                    let start = texts.text.count
                    guard filled < room, document.appendText(of: child, to: &texts) else {
                        room = 0
                        return
                    }
                    let bytes = UnsafeBufferPointer(rebasing: texts.text[start...])
                    arguments.initializeElement(at: filled, to: FormatArgument(bytes: bytes))
                    filled += 1
                }
                return body(UnsafeBufferPointer(start: arguments.baseAddress, count: filled))
            }
        }
    }
}

extension JSONDocument {
    /// A string's text, or a number as it is spelled. False for any other kind.
    fileprivate func appendText(of node: JSONNode, to output: inout FormatOutput) -> Bool {
        switch kind(of: node) {
        case .string: withText(of: node) { text in text.withUnsafeBufferPointer { output.append($0) } }
        case .number: withSpelling(of: node) { text in text.withUnsafeBufferPointer { output.append($0) } }
        case .object, .array, .true, .false, .null: return false
        }
        return true
    }
}
