package import PushmillPayload

/// In bytes. More text than any payload may have is not worth its memory.
private let maximumTextCount = 1 << 20
/// In bytes. The first attempt uses the stack.
private let firstTextCount = 1024

extension NotificationContent {
    /// Sets the text to the translation of its key. If that fails, the key stays.
    package mutating func localize(
        _ text: AlertText, key: JSONNode, arguments: JSONNode?, for choice: LocaleChoice
    ) -> Localization {
        var capacity = firstTextCount
        while capacity <= maximumTextCount {
            let result: Localization? = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { memory in
                var output = FormatOutput(memory)
                guard let result = translate(key, arguments, capacity, for: choice, to: &output), !output.isFull else {
                    return nil
                }
                if result == .ok {
                    let isDecrypted = arguments.map { hasDecrypted(in: $0) } ?? false
                    setLocalized(text, to: output.text.span, isDecrypted: isDecrypted)
                }
                return result
            }
            if let result { return result }
            capacity *= 16
        }
        return .wrongArguments
    }

    /// Nil if the arguments need more memory.
    private func translate(
        _ key: JSONNode, _ list: JSONNode?, _ capacity: Int, for choice: LocaleChoice, to output: inout FormatOutput
    ) -> Localization? {
        guard let list, document.kind(of: list) != .null else {
            return translate(key, UnsafeBufferPointer(start: nil, count: 0), for: choice, to: &output)
        }
        guard document.kind(of: list) == .array else { return .wrongArguments }
        // No text is longer than its spelling in JSON.
        let capacity = capacity == firstTextCount ? capacity : document.renderedByteCount(of: list)
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { memory in
            withUnsafeTemporaryAllocation(of: FormatArgument.self, capacity: FormatArgument.maximumCount) { arguments in
                var texts = FormatOutput(memory)
                let count = read(list, to: arguments, texts: &texts)
                if texts.isFull { return nil }
                return translate(
                    key, UnsafeBufferPointer(start: arguments.baseAddress, count: count), for: choice, to: &output)
            }
        }
    }

    private func translate(
        _ key: JSONNode, _ arguments: UnsafeBufferPointer<FormatArgument>, for choice: LocaleChoice,
        to output: inout FormatOutput
    ) -> Localization {
        document.withText(of: key) { key in
            key.withUnsafeBufferPointer { choice.localize($0, arguments, to: &output) }
        } ?? .missing
    }

    /// Reads the arguments up to the first that is neither a string nor a number, and no more than a format can name.
    /// Returns their number.
    private func read(
        _ list: JSONNode, to arguments: UnsafeMutableBufferPointer<FormatArgument>, texts: inout FormatOutput
    ) -> Int {
        var count = 0
        var isRead = true
        document.forEachChild(of: list) { child in
            guard isRead, count < arguments.count else { return }
            let start = texts.text.count
            isRead = document.appendText(of: child, to: &texts)
            guard isRead else { return }
            let bytes = UnsafeBufferPointer(rebasing: texts.text[start...])
            arguments.initializeElement(at: count, to: FormatArgument(bytes: bytes))
            count += 1
        }
        return count
    }

    private func hasDecrypted(in list: JSONNode) -> Bool {
        var isFound = false
        document.forEachChild(of: list) { if isDecrypted($0) { isFound = true } }
        return isFound
    }
}

extension JSONDocument {
    /// Appends a string's text, or a number as it is spelled. False for any other kind.
    fileprivate func appendText(of node: JSONNode, to output: inout FormatOutput) -> Bool {
        let isString = withText(of: node) { text in text.withUnsafeBufferPointer { output.append($0) } } != nil
        if isString { return true }
        guard kind(of: node) == .number else { return false }
        return withSpelling(of: node) { text in text.withUnsafeBufferPointer { output.append($0) } } != nil
    }
}
