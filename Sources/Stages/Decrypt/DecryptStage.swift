package import PushmillCiphers
package import PushmillPayload

/// Puts the plaintext in the place of what came encrypted. Where it cannot, "(Encrypted)" is shown and the ciphertext
/// stays for the device to try.
package final class DecryptStage: Stage {
    package let name = "decrypt"
    package let results = DecryptFailure.allCases.map { StageResult.failed($0.reason) }
    let options: DecryptOptions
    /// The fields of the options, which have them for good: taking one out of an array counts it.
    private let unownedFields: [Unmanaged<DecryptOptions.Field>]
    private let decryptor: Decryptor
    /// What names a key; with keys that are bound, the recipient alone.
    private let keyNames: [ValueSource]
    /// Nil for a cipher without keys.
    private let keys: ReloadableFile<KeyRing>?
    private let texts: SharedTexts
    private let pool = ScratchPool()

    /// `texts` may have the placeholder in the recipient's language.
    package init(_ options: DecryptOptions, keys: ReloadableFile<KeyRing>?, texts: SharedTexts = SharedTexts()) {
        self.options = options
        unownedFields = options.fields.map(Unmanaged.passUnretained)
        self.keys = keys
        self.texts = texts
        keyNames = options.bindsKeys ? [.recipient] : options.keyNames
        decryptor = Decryptor(options.formats, options.derivation, bindsKeys: options.bindsKeys)
    }

    /// Only PBKDF2 takes so long that it is waited for.
    package var isImmediate: Bool { !decryptor.needsTime }

    /// Nil where a key must be derived first.
    package func didReceiveAtOnce(
        _ content: inout NotificationContent, context: StageContext
    ) -> StageResult? {
        var turn = DecryptTurn()
        return advance(&turn, &content, context) == nil ? turn.result : nil
    }

    package func didReceive(
        _ content: inout NotificationContent, context: StageContext
    ) async throws -> StageResult {
        var turn = DecryptTurn()
        // Asked again where so many others came meanwhile that it is forgotten. The deadline ends that: it cancels.
        while let derivation = advance(&turn, &content, context) { try await decryptor.derive(derivation) }
        return turn.result
    }

    package func timeWillExpire(_ content: inout NotificationContent, context: StageContext) -> StageResult {
        let isEncrypted = options.fields.contains { source(of: $0, in: content) != nil }
        guard options.isRequired || isEncrypted, showPlaceholder(in: [.subtitle], of: &content, context) else {
            return .expired
        }
        content.setText(.body, to: "")
        // Nobody reads ciphertext.
        for field in options.fields where field.isInPlace && field.text == .title {
            if source(of: field, in: content) != nil { content.removeText(.title) }
        }
        return .expired
    }

    /// Goes on with the fields until all are done, or until a key must be derived.
    func advance(
        _ turn: inout DecryptTurn, _ content: inout NotificationContent, _ context: StageContext
    ) -> Derivation? {
        while turn.position < unownedFields.count {
            let derivation = unownedFields[turn.position]._withUnsafeGuaranteedRef { field in
                open(field, &turn, &content, context)
            }
            if let derivation { return derivation }
            turn.position += 1
        }
        if let missing = turn.missingTexts { showPlaceholder(in: missing, of: &content, context) }
        return nil
    }

    /// False where none is wanted, and the alert stays as it came.
    @discardableResult
    private func showPlaceholder(
        in missing: [AlertText], of content: inout NotificationContent, _ context: StageContext
    ) -> Bool {
        guard let placeholder = options.placeholder else { return false }
        guard !missing.isEmpty else { return true }
        let shown = texts.text(of: Array(placeholder.utf8), content, context)
        // The app's own words: no name is looked for in them.
        for text in missing { content.setLocalized(text, to: shown.span, isDecrypted: false) }
        return true
    }

    /// Encoders write what is not there as null.
    private func source(
        of field: DecryptOptions.Field, in content: borrowing NotificationContent
    ) -> JSONNode? {
        guard let node = content.node(at: field.from), content.document.kind(of: node) != .null else { return nil }
        return node
    }

    private func open(
        _ field: DecryptOptions.Field, _ turn: inout DecryptTurn, _ content: inout NotificationContent,
        _ context: StageContext
    ) -> Derivation? {
        guard let node = source(of: field, in: content) else {
            if options.isRequired { turn.failed(field, .malformed) }
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
                    turn.opened(isBody: isBody)
                    return nil
                }
            }
        } catch {
            turn.failed(field, error)
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

    /// The first key that the message names is the one. A recipient is no claim that there is a key of that name.
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
    /// True for what says whose the message is and nothing about keys.
    var isOfTheRecord: Bool { self == .recipient || self == .key }
}

/// One message on its way through the fields, which may have to wait for keys in between.
struct DecryptTurn {
    /// The field that is next.
    var position = 0
    private var failure: DecryptFailure?
    private var hasOpened = false
    private var isBodyOpened = false
    private var missing: [DecryptOptions.Field]?

    /// A merged object may have had the body.
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

    /// The texts that are missing; nil where nothing is. What is missing elsewhere is told in the body, unless that has its
    /// text.
    var missingTexts: [AlertText]? {
        missing?.compactMap { $0.text ?? (isBodyOpened ? nil : .body) }
    }
}
