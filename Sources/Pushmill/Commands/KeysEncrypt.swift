import PushmillCiphers

extension Command {
    private static let form = Option.operand("FORMAT", SealingForm.allCases.map(\.rawValue).joined(separator: ", "))
    private static let algorithm = Option.value(
        "alg", "ALG", "jwe: \(Sealer.algorithms.joined(separator: ", ")); default: the key's own")
    private static let encryption = Option.value(
        "enc", "ENC",
        "jwe: \(Sealer.encryptions.joined(separator: ", ")); default: the one that fits the key")

    static let keysEncrypt = Command(
        name: "keys encrypt", summary: "Encrypts standard input as a producer would",
        details: """
            Prints the ciphertext as it goes into the payload. For webpush-aesgcm, two lines
            follow, dh=... and salt=..., for members of their own.

                pushmill keys generate jwe --keys keys.json
                printf 'See you at 12' | pushmill keys encrypt jwe --keys keys.json

            Every byte of the input is encrypted: printf omits the newline that echo adds.
            """,
        options: [form, .keySet, .keyName, algorithm, encryption, .digest, .iterations]
    ) { invocation in
        guard let form = try invocation.value(form, .choice(SealingForm.self)) else { return .usage }
        try invocation.refuse([algorithm, encryption], unless: form == .jwe, "jwe")
        try invocation.refuse([.digest, .iterations], unless: form == .openSSL, "openssl")
        var choices = Sealer.Choices()
        choices.derivation = try invocation.derivation()
        choices.algorithm = try invocation.value(algorithm, .choice(Sealer.algorithms) { $0 })
        choices.encryption = try invocation.value(encryption, .choice(Sealer.encryptions) { $0 })
        let ring = try invocation.keyRing(isKeyless: form == .rot13)
        let text = try invocation.input()
        guard text.count <= Sealer.textLimit else {
            throw ProgramError.badData("too-large: the text is over 64 KiB, the limit of the service")
        }
        let sealed: SealedText
        do throws(DecryptFailure) {
            sealed = try Sealer(choices).seal(text, as: form, ring, keyName: invocation.text(.keyName))
        } catch .noKey {
            throw ProgramError.badData(
                "no-key: the set has no key for this\(wanted(invocation)); see 'pushmill keys generate'")
        } catch {
            throw ProgramError.internalFailure("this build of OpenSSL does not support \(form.rawValue)")
        }
        invocation.console.output(sealed.text)
        if let (point, salt) = sealed.draft { invocation.console.output("dh=\(point)\nsalt=\(salt)") }
        return .success
    }

    private static func wanted(_ invocation: Invocation) -> String {
        let options = [algorithm, encryption, .keyName].compactMap { option in
            invocation.text(option).map { "--\(option.name) \($0)" }
        }
        return options.isEmpty ? "" : " (\(options.joined(separator: " ")))"
    }
}
