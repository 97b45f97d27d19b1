package import PushmillCiphers
package import PushmillPayload

package struct DecryptOptions: Sendable {
    package final class Field: Sendable {
        package enum Target: Sendable {
            case member(JSONPointer)
            /// The plaintext is an object, whose listed members go into the alert and the payload.
            case merge
        }

        package static let standardMembers = AlertText.allCases.map { "\($0.member)" }

        package let from: JSONPointer
        package let target: Target
        /// The names of the members taken from a merged object, in UTF-8. Its other members may be confidential.
        let members: [[UInt8]]
        /// The ciphertext's encoding.
        let encoding: BinaryEncoding
        /// The texts contain HTML entities, which are unescaped.
        let hasEntities: Bool
        /// The alert text that the target is, if it is one.
        let text: AlertText?
        /// The target is the ciphertext's own place, so nothing is left to remove.
        let isInPlace: Bool

        package init(
            from: JSONPointer = JSONPointer(member: "ENCRYPTED_DATA"), to target: Target = .member(JSONPointer(.body)),
            members: [String] = standardMembers, encoding: BinaryEncoding = .auto, hasEntities: Bool = false
        ) {
            self.from = from
            self.target = target
            self.members = members.map { Array($0.utf8) }
            self.encoding = encoding
            self.hasEntities = hasEntities
            switch target {
            case .member(let pointer): (text, isInPlace) = (pointer.alertText, pointer.isPlace(of: from))
            case .merge: (text, isInPlace) = (nil, false)
            }
        }
    }

    /// Formats without authentication are read only if the configuration names them.
    package var formats: [CiphertextFormat] = [.jwe, .aesGCM, .chaCha20, .webPush]
    package var derivation = PassphraseDerivation.sha256
    /// Where the draft of web push keeps the sender's public key and the salt.
    package var draft = (point: DraftValue("dh", member: "k"), salt: DraftValue("salt", member: "s"))
    package var keyNames = [
        ValueSource.member(JSONPointer(member: "ENCRYPTION_KEY_ID")), .header(Array("encryption-key-id".utf8)),
        .recipient,
    ]
    /// Only the key named after the recipient is used, whatever the message and the ciphertext say.
    package var bindsKeys = false
    /// How long replaced keys still open messages that were on their way.
    package var keyGrace = KeySetFile.grace
    package var fields = [Field()]
    /// Shown for a text that cannot be decrypted: the catalog's text of this key, else the string itself. Nil leaves
    /// that text unchanged.
    package var placeholder: String? = "(Encrypted)"
    /// A message without the ciphertext fails: it must not pass for one that was decrypted.
    package var isRequired = false

    package init() {}
}

/// One of the two values that the draft of web push sends beside the ciphertext.
package struct DraftValue: Sendable {
    var from: ValueSource
    package var encoding = BinaryEncoding.auto
    /// Its name in the draft's headers, `Crypto-Key` and `Encryption`.
    let parameter: StaticString
    /// The text is such a header as a whole, from which the value must be taken.
    package var isInHeader = false

    init(_ parameter: StaticString, member: String) {
        self.parameter = parameter
        from = .member(JSONPointer(member: member))
    }

    /// Nil if the header lacks the value.
    func bytes(in text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard isInHeader else { return BinaryText.bytes(text.span, as: encoding) }
        return Self.value(of: parameter, in: text).map { BinaryText.bytes($0.span, as: encoding) }
    }

    /// The value in a line such as `keyid=p256dh;dh="BN…",p256ecdsa=…`; the first if there are several.
    private static func value(
        of parameter: StaticString, in line: UnsafeBufferPointer<UInt8>
    ) -> UnsafeBufferPointer<UInt8>? {
        let name = UnsafeBufferPointer(start: parameter.utf8Start, count: parameter.utf8CodeUnitCount)
        for part in line.split(whereSeparator: { ";,".utf8.contains($0) }) {
            guard let end = part.firstIndex(of: UInt8(ascii: "=")),
                trim(part[..<end], " \t").elementsEqual(name, by: { $0 | 0x20 == $1 })
            else { continue }
            return UnsafeBufferPointer(rebasing: trim(trim(part[(end + 1)...], " \t"), "\""))
        }
        return nil
    }

    private static func trim(
        _ text: Slice<UnsafeBufferPointer<UInt8>>, _ bytes: String
    ) -> Slice<UnsafeBufferPointer<UInt8>> {
        var text = text.drop { bytes.utf8.contains($0) }
        while let last = text.last, bytes.utf8.contains(last) { text.removeLast() }
        return text
    }
}

extension WebPushForm.Draft {
    /// Nil unless they are a point of the curve and a salt, written as `values` says.
    package init?(point: String, salt: String, as values: (point: DraftValue, salt: DraftValue)) {
        guard let point = Array(point.utf8).withUnsafeBufferPointer(values.point.bytes),
            let salt = Array(salt.utf8).withUnsafeBufferPointer(values.salt.bytes)
        else { return nil }
        self.init(point: point, salt: salt)
    }
}

extension DecryptStage {
    static let entry = StageEntry("decrypt") { settings in
        guard let (options, keys) = read(&settings) else { return nil }
        return { resources in
            DecryptStage(
                options, keys: try keys.map { try KeySetFile.open($0, resources, grace: options.keyGrace) })
        }
    }

    /// The options, and the path of the key file, if any. Problems are reported to `settings`.
    private static func read(_ settings: inout SettingReader) -> (DecryptOptions, keys: String?)? {
        var options = DecryptOptions()
        options.formats = settings.list("formats", .choice(CiphertextFormat.self), default: options.formats)
        let isKeyless = options.formats == [.rot13]
        if options.formats.contains(.rot13), !isKeyless {
            settings.report("formats", "rot13 cannot be distinguished from the other formats and must be the only one")
        }
        if options.formats.isEmpty, settings.problems.isEmpty {
            settings.report("formats", "expected at least one format")
        }
        let keys = isKeyless ? settings.optional("keys", .file) : settings.required("keys", .file)
        options.keyGrace = settings.value("key-grace", .duration(.zero ... .seconds(86_400)), default: options.keyGrace)
        options.derivation = settings.map("openssl", PassphraseDerivation.init)
        options.draft = settings.map("webpush") { settings in
            let areInHeaders = settings.value("header-lines", .bool, default: false)
            return (
                DraftValue(&settings, "dh", areInHeaders, default: options.draft.point),
                DraftValue(&settings, "salt", areInHeaders, default: options.draft.salt)
            )
        }
        let standard = options.keyNames
        options.keyNames = settings.list("key-id-from", .source, default: standard)
        let bindings = SettingFormat<Bool>.choice([false, true]) { $0 ? "recipient" : "none" }
        options.bindsKeys = settings.value("key-binding", bindings, default: options.bindsKeys)
        // The default `key-id-from` includes the recipient and does not tell how keys are named: only the ids in the
        // key set can. If its file cannot be read, there is no warning.
        if let keys, !options.bindsKeys, options.keyNames.contains(where: \.isOfTheRecord),
            options.keyNames != standard || KeySetFile.mayHaveOwners(keys)
        {
            settings.warn(
                "key-binding",
                """
                key ids may be recipients, and a ciphertext may name another recipient's key: `recipient` prevents that; \
                if key ids are not recipients, leave recipient out of `key-id-from`
                """)
        }
        options.isRequired = settings.value("required", .bool, default: options.isRequired)
        options.fields = settings.maps("fields", implied: 1) { settings in
            let standard = DecryptOptions.Field()
            let from = settings.value("from", .pointer, default: standard.from)
            let target = settings.value("to", .target, default: standard.target)
            if case .member(let pointer) = target {
                if let text = pointer.alertText, text != .body, from.isAlert {
                    settings.report("to", "the alert itself is the ciphertext: it cannot hold a \(text.member)")
                } else if pointer.description == "/aps" {
                    settings.report("to", "a text in place of `aps` shows nothing: name a member of `aps`")
                }
            }
            return DecryptOptions.Field(
                from: from, to: target, members: members(of: target, &settings),
                encoding: settings.value("encoding", .choice(BinaryEncoding.self), default: standard.encoding),
                hasEntities: settings.value("html-entities", .bool, default: standard.hasEntities))
        }
        if options.fields.isEmpty { settings.report("fields", "expected at least one field") }
        let placeholder = settings.value("placeholder", .name, default: "(Encrypted)")
        options.placeholder = placeholder == "none" ? nil : placeholder
        return (options, keys)
    }

    private static func members(of target: DecryptOptions.Field.Target, _ settings: inout SettingReader) -> [String] {
        guard case .merge = target else {
            let members = settings.list("members", .name)
            if !members.isEmpty { settings.report("members", "allowed only with `to: merge`") }
            return []
        }
        let members = settings.list("members", .name, default: DecryptOptions.Field.standardMembers)
        if members.isEmpty { settings.report("members", "expected at least one member") }
        if members.contains("aps") {
            settings.report("members", "`aps` is not allowed: an object that has it is refused")
        }
        return members
    }
}

extension JSONPointer {
    /// True for the alert as a whole. If that is a string, it is the body as well.
    var isAlert: Bool { description == "/aps/alert" }

    /// True if a value put here is also where the other points to, and would be removed with it.
    fileprivate func isPlace(of other: JSONPointer) -> Bool {
        self == other || isAlert && other.alertText == .body || other.isAlert && alertText == .body
    }
}

extension DraftValue {
    fileprivate init(
        _ settings: inout SettingReader, _ name: String, _ isInHeader: Bool, default standard: DraftValue
    ) {
        self = standard
        self.isInHeader = isInHeader
        from = settings.value("\(name)-from", .source, default: from)
        encoding = settings.value("\(name)-encoding", .choice(BinaryEncoding.self), default: encoding)
    }
}

extension PassphraseDerivation {
    fileprivate init(_ settings: inout SettingReader) {
        let digest = settings.value("digest", .choice(Digest.self), default: .sha256)
        let iterations = settings.optional("iterations", .integer(Self.iterationLimits))
        if let derivation = PassphraseDerivation(digest, iterations: iterations) {
            self = derivation
        } else {
            settings.report("digest", "`iterations` (PBKDF2) requires sha256")
            self = .sha256
        }
    }
}

extension KeySetFile {
    /// The keys in force, read again when the file changes.
    static func open(
        _ path: String, _ resources: StageResources, grace: Duration = KeySetFile.grace
    ) throws -> ReloadableFile<KeyRing> {
        let (log, refusesSamples) = (resources.log, resources.refusesSamples)
        let file = try ReloadableFile<KeyRing>(path: path, tidied: { $0.withoutOutdated }) { path, before in
            try KeySetFile.read(path, replacing: before, grace: grace, refusesSamples: refusesSamples) {
                log(.warning, $0)
            }
        }
        resources.watch(file)
        return file
    }
}

extension SettingFormat where Value == DecryptOptions.Field.Target {
    fileprivate static var target: Self {
        Self(
            expected: "a JSON Pointer such as /aps/alert/body, or merge", candidates: ["merge"],
            { text in
                if text == "merge" { return .merge }
                return text.isEmpty ? nil : JSONPointer(text).map { .member($0) }
            },
            render: { target in
                switch target {
                case .merge: "merge"
                case .member(let pointer): pointer.description
                }
            })
    }
}
