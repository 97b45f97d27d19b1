import PushmillCiphers
import PushmillStages

extension Command {
    private static let form = Option.operand(
        "FORMAT",
        "accepts only this format: \(CiphertextFormat.allCases.map(\.rawValue).joined(separator: ", ")); "
            + "default: all but rot13",
        isRequired: false)
    private static let encoding = Option.value(
        "encoding", "NAME",
        "of the ciphertext: \(BinaryEncoding.allCases.map(\.rawValue).joined(separator: ", ")); default: auto, which "
            + "accepts all but z85")
    private static let point = Option.value(
        "dh", "TEXT", "webpush: the sender's public key, for the draft before the RFC")
    private static let pointEncoding = Option.value("dh-encoding", "NAME", "webpush: the encoding of --dh, as above")
    private static let salt = Option.value("salt", "TEXT", "webpush: the salt that goes with --dh")
    private static let saltEncoding = Option.value("salt-encoding", "NAME", "webpush: the encoding of --salt, as above")
    private static let headerLines = Option.flag(
        "header-lines", "webpush: --dh and --salt are whole header values, dh=...;p256ecdsa=... and salt=...")

    static let keysDecrypt = Command(
        name: "keys decrypt", summary: "Decrypts standard input as the service would",
        details: """
            Detects the format. Prints the text, or fails with the reason that the service
            would count and its possible causes.
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
                        + "--dh-encoding, --salt-encoding or --header-lines is given")
            }
            return draft
        default: throw .usage("--dh and --salt must be given together")
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
        case .noKey: "the set has no key with the name in the ciphertext or --kid, or none for the `alg`"
        case .authentication:
            "it was encrypted with another key or changed in transit; perhaps the openssl passphrase or derivation "
                + "differs (--digest, --iterations), or the first key of the set is not the right one (--kid), or "
                + "nonce, ciphertext and tag are of another cipher (FORMAT)"
        case .malformed:
            "it has none of the formats: it is truncated, its producer writes another format, or it has another "
                + "encoding (--encoding)"
        case .unsupported: "it is well-formed, but not allowed here, or its alg, enc, crit or zip is not supported"
        case .tooLarge: "the text is over 64 KiB, the limit of the service"
        case .notText: "the decrypted text is not UTF-8"
        case .notObject, .protectedMember: "it cannot be merged"
        }
    }
}
