extension DecryptStage {
    static let entry = StageEntry("decrypt") { settings in
        guard let (options, keys) = read(&settings) else { return nil }
        return { resources in
            DecryptStage(
                options, keys: try keys.map { try KeySetFile.open($0, resources, grace: options.keyGrace) },
                texts: resources.texts)
        }
    }

    /// The options, and the file of the keys if the formats need any; nil after a problem.
    private static func read(_ settings: inout SettingReader) -> (DecryptOptions, keys: String?)? {
        var options = DecryptOptions()
        options.formats = settings.list("formats", .choice(CiphertextFormat.self), default: options.formats)
        let isKeyless = options.formats == [.rot13]
        if options.formats.contains(.rot13), !isKeyless {
            settings.report("formats", "rot13 cannot be told from the other forms and has to stand alone")
        }
        if options.formats.isEmpty, settings.problems.isEmpty {
            settings.report("formats", "no form of ciphertext is allowed")
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
        options.bindsKeys = settings.value("key-binding", .binding, default: false)
        // The default names recipients too, and says nothing of how keys are named: only the set's ids can. Where its file
        // is not there to be looked at nothing is said.
        if let keys, !options.bindsKeys, options.keyNames.contains(where: \.isOfTheRecord),
            options.keyNames != standard || KeySetFile.mayHaveOwners(keys)
        {
            settings.warn(
                "key-binding",
                """
                keys are named after recipients, and a ciphertext may name another's: `recipient` binds them; where they \
                are not, name `key-id-from` without recipient
                """)
        }
        options.isRequired = settings.value("required", .bool, default: options.isRequired)
        options.fields = settings.maps("fields", implied: 1) { settings in
            let standard = DecryptOptions.Field()
            let from = settings.value("from", .pointer, default: standard.from)
            let target = settings.value("to", .target, default: standard.target)
            return DecryptOptions.Field(
                from: from, to: target, members: members(of: target, &settings),
                encoding: settings.value("encoding", .choice(BinaryEncoding.self), default: standard.encoding),
                hasEntities: settings.value("html-entities", .bool, default: standard.hasEntities))
        }
        if options.fields.isEmpty { settings.report("fields", "there is nothing to decrypt") }
        let placeholder = settings.value("placeholder", .name, default: "(Encrypted)")
        options.placeholder = placeholder == "none" ? nil : placeholder
        return (options, keys)
    }

    /// What is taken of an object that is merged.
    private static func members(of target: DecryptOptions.Field.Target, _ settings: inout SettingReader) -> [String] {
        guard case .merge = target else {
            let members = settings.list("members", .name)
            if !members.isEmpty { settings.report("members", "goes with `to: merge` alone") }
            return []
        }
        let members = settings.list("members", .name, default: DecryptOptions.Field.standardMembers)
        if members.isEmpty { settings.report("members", "nothing of the object is taken") }
        if members.contains("aps") {
            settings.report("members", "`aps` is never taken: an object that has it is refused")
        }
        return members
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
            settings.report("digest", "PBKDF2 (iterations) goes with sha256 only")
            self = .sha256
        }
    }
}

extension SettingFormat where Value == Bool {
    /// `none`, or whose name the key has to have.
    fileprivate static var binding: Self { .choice([false, true]) { $0 ? "recipient" : "none" } }
}

extension SettingFormat where Value == DecryptOptions.Field.Target {
    /// A JSON Pointer or `merge`.
    fileprivate static var target: Self {
        Self(
            parse: { text throws(SettingMismatch) in
                if text == "merge" { return .merge }
                guard !text.isEmpty, let pointer = JSONPointer(text) else {
                    throw SettingMismatch(
                        expected: "a JSON Pointer such as /aps/alert/body, or merge", candidates: ["merge"])
                }
                return .member(pointer)
            },
            render: { target in
                switch target {
                case .merge: "merge"
                case .member(let pointer): pointer.description
                }
            })
    }
}
