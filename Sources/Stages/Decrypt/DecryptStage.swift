package import PushmillCiphers
package import PushmillPayload

/// Replaces encrypted content with the plaintext. If it cannot, "(Encrypted)" is shown and the ciphertext stays for the
/// device to try.
package final class DecryptStage: Stage {
    package let name = "decrypt"
    package let results = DecryptFailure.allCases.map { StageResult.failed($0.reason) }
    let options: DecryptOptions
    /// The fields of `options`, which owns them, without reference counting.
    private let unownedFields: [Unmanaged<DecryptOptions.Field>]
    private let decryptor: Decryptor
    /// The sources of a key's name; with bound keys, the recipient alone.
    private let keyNames: [ValueSource]
    /// Nil for a cipher without keys.
    private let keys: ReloadableFile<KeyRing>?
    private let pool = ScratchPool()
    /// Derive keys: as many as half the cores, so messages that need no such key are not held up.
    private static let threads = StageThreads(limit: max(1, Processors.usable / 2))

    package init(_ options: DecryptOptions, keys: ReloadableFile<KeyRing>?) {
        self.options = options
        unownedFields = options.fields.map(Unmanaged.passUnretained)
        self.keys = keys
        keyNames = options.bindsKeys ? [.recipient] : options.keyNames
        decryptor = Decryptor(options.formats, options.derivation, bindsKeys: options.bindsKeys)
    }

    /// Only PBKDF2 takes long enough to wait for.
    package var isImmediate: Bool { !decryptor.needsTime }

    /// Nil if a key must be derived first.
    package func didReceiveAtOnce(
        _ content: inout NotificationContent, context: StageContext
    ) -> StageResult? {
        var progress = DecryptProgress()
        return advance(&progress, &content, context) == nil ? progress.result : nil
    }

    package func didReceive(
        _ content: inout NotificationContent, context: StageContext
    ) async throws -> StageResult {
        var progress = DecryptProgress()
        // A derived key may be evicted before its use; then it is derived again, until the deadline cancels the task.
        while let derivation = advance(&progress, &content, context) {
            try await decryptor.derive(derivation, on: Self.threads)
        }
        return progress.result
    }

    package func timeWillExpire(_ content: inout NotificationContent, context: StageContext) -> StageResult {
        let isEncrypted = options.fields.contains { source(of: $0, in: content) != nil }
        guard options.isRequired || isEncrypted, showPlaceholder(in: [.subtitle], of: &content, context) else {
            return .expired
        }
        content.setText(.body, to: "")
        // A title that is still ciphertext is not shown.
        for field in options.fields where field.from.alertText == .title {
            if source(of: field, in: content) != nil { content.removeText(.title) }
        }
        return .expired
    }

    /// Goes on with the fields until all are done, or until a key must be derived, which it returns.
    func advance(
        _ progress: inout DecryptProgress, _ content: inout NotificationContent, _ context: StageContext
    ) -> Derivation? {
        while progress.position < unownedFields.count {
            let derivation = unownedFields[progress.position]._withUnsafeGuaranteedRef { field in
                open(field, &progress, &content, context)
            }
            if let derivation { return derivation }
            progress.position += 1
        }
        if let missing = progress.missingTexts { showPlaceholder(in: missing, of: &content, context) }
        return nil
    }

    /// False if no placeholder is configured; the alert then stays unchanged.
    @discardableResult
    private func showPlaceholder(
        in missing: [AlertText], of content: inout NotificationContent, _ context: StageContext
    ) -> Bool {
        guard let placeholder = options.placeholder else { return false }
        guard !missing.isEmpty else { return true }
        let shown = context.text(of: Array(placeholder.utf8), for: content)
        // Marked as the app's own words, in which `ContactStage` looks for no name.
        for text in missing { content.setLocalized(text, to: shown.span, isDecrypted: false) }
        return true
    }

    /// Nil also for null, which encoders write for a missing value.
    private func source(
        of field: DecryptOptions.Field, in content: borrowing NotificationContent
    ) -> JSONNode? {
        guard let node = content.node(at: field.from), content.document.kind(of: node) != .null else { return nil }
        return node
    }

    private func open(
        _ field: DecryptOptions.Field, _ progress: inout DecryptProgress, _ content: inout NotificationContent,
        _ context: StageContext
    ) -> Derivation? {
        guard let node = source(of: field, in: content) else {
            if options.isRequired { progress.failed(field, .malformed) }
            return nil
        }
        do throws(DecryptFailure) {
            return try pool.with { (scratch) throws(DecryptFailure) in
                switch try open(node, as: field.encoding, &scratch, content, context) {
                case .underived(let derivation): return derivation
                case .text(let plaintext, let isAuthenticated):
                    do throws(DecryptFailure) {
                        try field.put(plaintext, into: &content, &scratch)
                    } catch {
                        throw isAuthenticated ? error : .authentication
                    }
                    let isBody = if let body = content.node(of: .body) { content.isDecrypted(body) } else { false }
                    progress.opened(isBody: isBody)
                    return nil
                }
            }
        } catch {
            progress.failed(field, error)
            return nil
        }
    }

    private func open(
        _ node: JSONNode, as encoding: BinaryEncoding, _ scratch: inout DecryptScratch,
        _ content: borrowing NotificationContent, _ context: StageContext
    ) throws(DecryptFailure) -> Decryptor.Opened {
        let ring = if let keys { try scratch.ring(keys.version, keys.value) } else { KeyRing.empty }
        let opened = try content.document.withText(of: node) { (text) throws(DecryptFailure) in
            try text.withUnsafeBytes { (text) throws(DecryptFailure) in
                try decryptor.open(text, as: encoding, &scratch, ring) { (need, ring) throws(DecryptFailure) in
                    try key(for: need, in: ring, content, context)
                } draft: {
                    draft(content, context)
                }
            }
        }
        guard let opened else { throw .malformed }
        return opened
    }

    /// Uses the first key that the message names. An encryption key named after the recipient or record key may be
    /// missing.
    private func key(
        for need: KeyNeed, in ring: KeyRing, _ content: borrowing NotificationContent, _ context: StageContext
    ) throws(DecryptFailure) -> DecryptionKey {
        for index in keyNames.indices {
            let named = keyNames[index].withBytes(content, context) {
                ring.key(named: UnsafeRawBufferPointer($0), for: need)
            }
            guard let named else { continue }
            if let key = named { return key }
            guard keyNames[index].isOfTheRecord else { throw .noKey }
        }
        guard !options.bindsKeys, let key = ring.key(for: need) else { throw .noKey }
        return key
    }

    private func draft(_ content: borrowing NotificationContent, _ context: StageContext) -> WebPushForm.Draft? {
        let point = options.draft.point.from.withBytes(content, context) { options.draft.point.bytes(in: $0) }
        guard let point = point ?? nil else { return nil }
        let salt = options.draft.salt.from.withBytes(content, context) { options.draft.salt.bytes(in: $0) }
        guard let salt = salt ?? nil else { return nil }
        return WebPushForm.Draft(point: point, salt: salt)
    }
}

extension ValueSource {
    /// True for a source that tells whose the message is, and nothing about encryption keys.
    var isOfTheRecord: Bool { self == .recipient || self == .key }
}

/// One message's way through the fields, which may be interrupted by the derivation of a key.
struct DecryptProgress {
    /// The index of the next field.
    var position = 0
    private var failure: DecryptFailure?
    private var hasOpened = false
    private var isBodyOpened = false
    private var missing: [DecryptOptions.Field]?

    /// `isBody`: the body was decrypted, perhaps as part of a merged object.
    mutating func opened(isBody: Bool) {
        hasOpened = true
        if isBody { isBodyOpened = true }
    }

    mutating func failed(_ field: DecryptOptions.Field, _ failure: DecryptFailure) {
        self.failure = self.failure ?? failure
        missing = (missing ?? []) + [field]
    }

    var result: StageResult {
        if let failure { return .failed(failure.reason) }
        return hasOpened ? .ok : .skipped
    }

    /// The alert texts that need a placeholder; nil if no field failed. A failed field that is not for one alert text
    /// has its placeholder in the body, unless the body was decrypted.
    var missingTexts: [AlertText]? {
        missing?.compactMap { $0.text ?? (isBodyOpened ? nil : .body) }
    }
}
