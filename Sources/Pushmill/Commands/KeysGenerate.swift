import Glibc
import PushmillCiphers
import PushmillPayload

extension Command {
    private static let forms = SealingForm.allCases.filter { $0 != .rot13 && $0 != .webPushDraft }
    private static let form = Option.operand("FORMAT", forms.map(\.rawValue).joined(separator: ", "))
    private static let file = Option.value("keys", "FILE", "the key set; created if it is missing", isRequired: true)
    private static let algorithm = Option.value(
        "alg", "ALG",
        forms.filter { $0.keyUses.count > 1 }.map { form in
            "\(form.rawValue): \(form.keyUses.map(\.name).joined(separator: ", "))"
        }.joined(separator: "; ") + "; default: the first")
    private static let encryption = Option.value(
        "enc", "ENC", "dir: the `enc` that determines the key length; default: A256GCM")
    private static let name = Option.value("kid", "NAME", "the name by which messages select the key")

    static let keysGenerate = Command(
        name: "keys generate", summary: "Generates a key and adds it to a key set",
        details: """
            Appends the key to the file, which is replaced as a whole and readable only by
            its owner (0600), or also by its group if it was before (0640). A service that
            uses the file reloads it automatically. Prints what senders need of a key pair:
            the public key for ECDH-ES, the subscription's keys for webpush. Other keys are
            shared: senders need the key from the file; for openssl, its `k` is the
            passphrase, in base64url.
            """,
        options: [form, file, algorithm, encryption, name]
    ) { invocation in
        guard let form = try invocation.value(form, .choice(forms, name: \.rawValue)) else { return .usage }
        let uses = form.keyUses
        guard let use = try invocation.value(algorithm, .choice(uses, name: \.name)) ?? uses.first else {
            return .usage
        }
        try invocation.refuse([encryption], unless: use == .direct, "dir")
        let count = try invocation.value(encryption, .choice(JWEEncryption.self))?.keyCount
        let path = try invocation.required(file)
        let keyName = invocation.text(name)
        var text: [UInt8]
        do throws(DecryptFailure) {
            text = try KeyGenerator.generate(use, name: keyName, count: count)
        } catch {
            throw ProgramError.internalFailure("cannot generate a key: this build of OpenSSL does not support it")
        }
        defer { text.wipe() }
        let file = SecretFile(path: path)
        let key = try file.alone { () throws(ProgramError) in try added(text, named: keyName, to: path, file) }
        invocation.console.error(
            "\(path): added a key for \(use.name)\(key.name.map { ", named \($0)" } ?? "")")
        if let published = key.published { invocation.console.output(published) }
        return .success
    }

    /// Adds the key to the set; returns it as a service would read it from there.
    private static func added(
        _ key: [UInt8], named name: String?, to path: String, _ file: SecretFile
    ) throws(ProgramError) -> DecryptionKey {
        var before: FileBytes?
        var text: [UInt8] = []
        defer {
            before?.wipe()
            text.wipe()
        }
        if access(path, F_OK) == 0 {
            before = try explaining(as: ProgramError.unreadableConfiguration) { try FileBytes(path: path) }
        }
        text = KeyGenerator.add(key, to: before?.bytes) ?? []
        guard !text.isEmpty else {
            throw .unreadableConfiguration("\(path): not a JWK Set: `keys` is missing or not an array")
        }
        let reader = try explaining(path, as: ProgramError.unreadableConfiguration) { try KeySetReader(text) }
        guard let added = reader.keys.last, added.name == name else {
            throw .unreadableConfiguration("\(path): the set revokes this name: choose another")
        }
        try file.write(text)
        return added
    }
}
