import Push

extension Command {
    private static let form = Option.operand(
        "FORMAT",
        "allows only this one: \(CiphertextFormat.allCases.map(\.rawValue).joined(separator: ", ")); "
            + "all but rot13 unless given",
        isRequired: false)
    private static let point = Option.value(
        "dh", "TEXT", "webpush: the sender's public key, in the form before the RFC")
    private static let salt = Option.value("salt", "TEXT", "webpush: the salt beside it")

    static let keysDecrypt = Command(
        "keys decrypt", "Decrypts a ciphertext from the input, as the service would",
        details: """
            The format is recognised by its shape. Prints the text; or fails for the reason
            that the service would count, and says what it may be due to.
            """,
        options: [form, .keySet, .keyName, .digest, .iterations, point, salt]
    ) { invocation throws(ProgramError) in
        let form = try invocation.value(form, .choice(CiphertextFormat.self))
        try invocation.refuse([.digest, .iterations], unless: form == nil || form == .openSSL, "openssl")
        try invocation.refuse([point, salt], unless: form == nil || form == .webPush, "webpush")
        let formats = form.map { [$0] } ?? CiphertextFormat.allCases.filter { $0 != .rot13 }
        let opener = Opener(formats, try invocation.derivation())
        let draft = try draft(invocation)
        let ring = try invocation.keyRing(isKeyless: form == .rot13)
        var text = try invocation.input()[...]
        // The line end of whatever printed it.
        while text.last == UInt8(ascii: "\n") || text.last == UInt8(ascii: "\r") { text.removeLast() }
        do throws(DecryptFailure) {
            let plaintext = try opener.open(
                Array(text), ring, keyName: invocation.text(.keyName), draft: draft)
            invocation.surroundings.console.output(String(decoding: plaintext, as: UTF8.self))
        } catch {
            throw .badData("\(error.reason): \(error.meaning)")
        }
        return .success
    }

    private static func draft(_ invocation: Invocation) throws(ProgramError) -> Opener.Draft? {
        switch (invocation.text(point), invocation.text(salt)) {
        case (nil, nil): return nil
        case (let point?, let salt?):
            guard let draft = Opener.Draft(point: point, salt: salt) else {
                throw .usage("--dh and --salt: expected 65 bytes that begin with 4, and 16 bytes, in base64url")
            }
            return draft
        default: throw .usage("--dh and --salt go together")
        }
    }
}

extension DecryptFailure {
    /// What it may be due to, and what to look at.
    fileprivate var meaning: String {
        switch self {
        case .noKey: "the set has no key for it: none of the name that the ciphertext or --kid gives, or of the `alg`"
        case .authentication:
            "the key is another one than it was encrypted with, or it was changed on its way; perhaps an openssl "
                + "passphrase or derivation differs (--digest, --iterations), or the first key of a set is not the "
                + "one (--kid), or nonce, ciphertext and tag are of another cipher (FORMAT)"
        case .malformed: "it is in none of the formats: cut short, or its producer writes something else"
        case .unsupported: "it is well-formed, but not allowed here, or its alg, enc, crit or zip is not known"
        case .tooLarge: "it is over 64 KiB, which the service does not show"
        case .notText: "what comes out is not UTF-8"
        case .notObject, .protectedMember: "it is not to be merged"
        }
    }
}
