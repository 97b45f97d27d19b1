/// One message on its way through the fields, which may have to wait for keys in between.
struct DecryptTurn {
    /// The field that is next.
    var position = 0
    /// What was waited for.
    var derived: [Decryptor.DerivedKey] = []

    private var failure: DecryptFailure?
    private var hasOpened = false
    private var isBodyOpened = false
    private var missing: [DecryptOptions.Field] = []

    mutating func opened(_ field: DecryptOptions.Field) {
        hasOpened = true
        if field.text == .body { isBodyOpened = true }
    }

    mutating func failed(_ field: DecryptOptions.Field, _ failure: DecryptFailure) {
        self.failure = self.failure ?? failure
        missing.append(field)
    }

    var result: StageResult {
        if let failure { return .failed(failure.reason) }
        return hasOpened ? .ok : .skipped
    }

    /// The texts that are missing. What is missing elsewhere is told in the body, unless that has its text.
    var missingTexts: [AlertText] {
        missing.compactMap { $0.text ?? (isBodyOpened ? nil : .body) }
    }
}
