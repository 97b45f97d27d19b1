import PushmillCiphers
import PushmillStages

extension Command {
    private static let form = Option.operand(
        "FORMAT",
        "allows only this one: \(CiphertextFormat.allCases.map(\.rawValue).joined(separator: ", ")); "
            + "all but rot13 unless given",
        isRequired: false)
    private static let encoding = Option.value(
        "encoding", "NAME",
        "of the ciphertext: \(BinaryEncoding.allCases.map(\.rawValue).joined(separator: ", ")); auto, which reads all "
            + "but z85, unless given")
    private static let point = Option.value(
        "dh", "TEXT", "webpush: the sender's public key, in the form before the RFC")
    private static let pointEncoding = Option.value("dh-encoding", "NAME", "webpush: how --dh is written, as above")
    private static let salt = Option.value("salt", "TEXT", "webpush: the salt beside it")
    private static let saltEncoding = Option.value("salt-encoding", "NAME", "webpush: how --salt is written, as above")
    private static let headerLines = Option.flag(
        "header-lines", "webpush: --dh and --salt are the headers as they came, dh=...;p256ecdsa=... and salt=...")

    static let keysDecrypt = Command(
        name: "keys decrypt", summary: "Decrypts a ciphertext from the input, as the service would",
        details: """
            The format is recognised by its shape. Prints the text; or fails for the reason
            that the service would count, and says what it may be due to.
            """,
        options: [
            form, .keySet, .keyName, encoding, .digest, .iterations, point, pointEncoding, salt, saltEncoding,
            headerLines,
        ]
    ) { invocation in
        let form = try invocation.value(form, .choice(CiphertextFormat.self))
        try invocation.refuse([.digest, .iterations], unless: form == nil || form == .openSSL, "openssl")
        try invocation.refuse(
            [point, pointEncoding, salt, saltEncoding, headerLines], unless: form == nil || form == .webPush, "webpush")
        try invocation.refuse(
            [pointEncoding, saltEncoding, headerLines], unless: invocation.flag(point), "--dh and --salt")
        let formats = form.map { [$0] } ?? CiphertextFormat.allCases.filter { $0 != .rot13 }
        let decryptor = Decryptor(formats, try invocation.derivation())
        let encoding = try invocation.encoding(encoding)
        let draft = try draft(invocation)
        let ring = try invocation.keyRing(isKeyless: form == .rot13)
        var text = try invocation.input()[...]
        // The line end comes from the program that printed the text.
        while text.last == UInt8(ascii: "\n") || text.last == UInt8(ascii: "\r") { text.removeLast() }
        do throws(DecryptFailure) {
            let plaintext = try decryptor.open(
                Array(text), as: encoding, ring, keyName: invocation.text(.keyName), draft: draft)
            invocation.console.output(String(decoding: plaintext, as: UTF8.self))
        } catch {
            throw ProgramError.badData("\(error.reason): \(error.meaning)")
        }
        return .success
    }

    private static func draft(_ invocation: Invocation) throws(ProgramError) -> WebPushForm.Draft? {
        var values = DecryptOptions().draft
        values.point.encoding = try invocation.encoding(pointEncoding)
        values.salt.encoding = try invocation.encoding(saltEncoding)
        values.point.isInHeader = invocation.flag(headerLines)
        values.salt.isInHeader = invocation.flag(headerLines)
        switch (invocation.text(point), invocation.text(salt)) {
        case (nil, nil): return nil
        case (let point?, let salt?):
            guard let draft = WebPushForm.Draft(point: point, salt: salt, as: values) else {
                throw .usage(
                    "--dh and --salt: expected 65 bytes that begin with 4, and 16 bytes, in base64url unless "
                        + "--dh-encoding, --salt-encoding or --header-lines says otherwise")
            }
            return draft
        default: throw .usage("--dh and --salt go together")
        }
    }
}

extension Invocation {
    fileprivate func encoding(_ option: Option) throws(ProgramError) -> BinaryEncoding {
        try value(option, .choice(BinaryEncoding.self)) ?? .auto
    }
}

extension DecryptFailure {
    /// The likely cause, and what to check.
    fileprivate var meaning: String {
        switch self {
        case .noKey: "the set has no key for it: none of the name that the ciphertext or --kid gives, or of the `alg`"
        case .authentication:
            "the key is another one than it was encrypted with, or it was changed on its way; perhaps an openssl "
                + "passphrase or derivation differs (--digest, --iterations), or the first key of a set is not the "
                + "one (--kid), or nonce, ciphertext and tag are of another cipher (FORMAT)"
        case .malformed:
            "it is in none of the formats: cut short, its producer writes something else, or in another encoding "
                + "(--encoding)"
        case .unsupported: "it is well-formed, but not allowed here, or its alg, enc, crit or zip is not known"
        case .tooLarge: "it is over 64 KiB, which the service does not show"
        case .notText: "what comes out is not UTF-8"
        case .notObject, .protectedMember: "it is not to be merged"
        }
    }
}
