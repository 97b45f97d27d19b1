import PushmillCiphers
import PushmillPayload
package import PushmillStages
import PushmillStores

extension Measurement {
    /// The cost of a stage for one payload, including undoing its edits.
    static func stage(
        _ name: String, messages: Int, _ payload: String, expecting expected: StageResult = .ok,
        _ receive: (inout NotificationContent) -> StageResult
    ) throws -> Measurement {
        var content = try NotificationContent(payload)
        let untouched = content.savepoint()
        var result = expected
        let measurement = Measurement(name, messages: messages) {
            result = receive(&content)
            content.rollback(to: untouched)
        }
        guard result == expected else { throw UnexpectedResult(result: result) }
        return measurement
    }
}

/// The stage did not treat the sample as expected: nothing was measured.
struct UnexpectedResult: Error { let result: StageResult }

extension Measurement {
    /// The cost of decrypting a field of 100 bytes: the ciphertext is found and opened, the body set, the ciphertext
    /// removed, and both edits are undone.
    package static func decrypt(messages: Int = 20_000) throws -> [Measurement] {
        let sample = try DecryptSample()
        return try DecryptSample.forms.map { name, form, keyName in
            // Key agreement takes long: fewer messages suffice.
            let count = form == .webPush ? messages / 50 : messages
            let payload = try sample.payload(form, keyName)
            return try Self.stage("decrypt, \(name)", messages: count, payload) { sample.receive(&$0) }
        }
    }
}

/// Payloads for the decrypt stage, and a stage for them.
struct DecryptSample {
    static let forms: [(name: String, SealingForm, keyName: String)] = [
        ("JWE dir A256GCM", .jwe, "k1"), ("JWE A256KW A256GCM", .jwe, "k2"), ("openssl SHA-256", .openSSL, "pw"),
        ("AES-GCM", .aesGCM, "raw"), ("ChaCha20-Poly1305", .chaCha20, "cc"), ("web push", .webPush, "push"),
    ]
    private static let uses: KeyValuePairs<String, KeyUse> = [
        "k1": .direct, "k2": .wrap256, "pw": .passphrase, "raw": .gcm256, "cc": .chacha20, "push": .webPush,
    ]

    private let ring: KeyRing
    let stage: DecryptStage
    private let context = Chain([]).context(Delivery())

    init() throws {
        let keys = try Self.uses.reduce(nil) { set, key in
            KeyGenerator.add(try KeyGenerator.generate(key.value, name: key.key), to: set)
        }
        let ring = KeyRing(try KeySetReader(keys ?? []).keys)
        self.ring = ring
        var options = DecryptOptions()
        options.formats.append(.openSSL)
        stage = DecryptStage(options, keys: try ReloadableFile(path: "sample") { _, _ in ring })
    }

    func payload(_ form: SealingForm, _ keyName: String, title: String = "GROUP_MESSAGE") throws -> String {
        let text = [UInt8](repeating: UInt8(ascii: "x"), count: 100)
        let sealed = try Sealer().seal(text, as: form, ring, keyName: keyName)
        return """
            {"aps":{"alert":{"title-loc-key":"\(title)","title-loc-args":["{contact:c48213}","Sailing club"],\
            "body":"(Encrypted)"},"mutable-content":1,"badge":1,"sound":"default","thread-id":"room-48213"},\
            "ENCRYPTION_KEY_ID":"\(keyName)","ENCRYPTED_DATA":"\(sealed.text)","sender":"c48213"}
            """
    }

    func receive(_ content: inout NotificationContent) -> StageResult {
        stage.didReceiveAtOnce(&content, context: context) ?? .expired
    }
}

extension Measurement {
    /// The cost of contacts from a file, and from the embedded store. Writes into the folder.
    package static func contacts(in folder: String) throws -> [Measurement] {
        let path = try ContactSample.write(in: folder)
        let file = try ContactFile(path: path)
        let state = try StateFile(path: "\(folder)/contacts.sqlite", access: .shared)
        _ = try ContactStore(state).importLines(path)
        let (owner, id) = (ContactSample.owner, ContactSample.id)
        return [
            try contact("contact, none", nil, of: "", in: file),
            try contact("contact, a text with a name from a file", id, of: owner, in: file),
            try contact("contact, a text with a name from the store", id, of: owner, in: StoredContacts(state)),
        ]
    }

    /// The cost of one name in a text: its placeholder is found, the book asked, the payload edited, and the edit
    /// undone. Without an identifier: the cost for a message that names nobody.
    package static func contact(
        _ name: String, _ id: String?, of owner: String, in book: any ContactBook, messages: Int = 20_000
    ) throws -> Measurement {
        let text = "\(id.map { "{contact:\($0)}" } ?? "Zoë") in Sailing club"
        var options = ContactStage.Options()
        options.owner = [.key]
        let stage = ContactStage(options, book: book)
        let delivery = Delivery()
        let context = Chain([ChainLink(stage)]).context(delivery)
        let payload = #"{"aps":{"alert":{"title":"\#(text)","subtitle":"s","body":"Lunch?"},"mutable-content":1}}"#
        return try Array(owner.utf8).withUnsafeBytes { owner in
            delivery.record.key = owner
            return try Self.stage(name, messages: messages, payload, expecting: id == nil ? .skipped : .ok) {
                stage.didReceive(&$0, context: context)
            }
        }
    }
}

enum ContactSample {
    static let owner = "user-48213"
    static let id = "c48213"

    /// Writes a file with one contact, and returns its path.
    static func write(in folder: String) throws(FileFailure) -> String {
        let path = "\(folder)/contacts.jsonl"
        let file = try OutputFile(path: path)
        try file.write(Array(#"{"owner":"\#(owner)","id":"\#(id)","name":"Zoë Martin"}"#.utf8))
        try file.close()
        return path
    }
}

extension Measurement {
    /// The cost of the stage: the increment is read, the sum written, and the edit undone.
    package static func badge(messages: Int = 20_000) throws -> Measurement {
        let stage = BadgeStage(mode: .increment)
        let delivery = Delivery()
        delivery.count = 41
        let context = Chain([ChainLink(stage)]).context(delivery)
        let payload = #"{"aps":{"alert":"Lunch?","badge":1,"mutable-content":1}}"#
        return try Self.stage("badge, the sum written", messages: messages, payload) {
            stage.didReceive(&$0, context: context)
        }
    }
}

extension Measurement {
    /// The cost of the stage alone in a chain, for a message with a known URL and for one without; compare with a chain
    /// without stages.
    package static func attachment(messages: Int = 20_000) -> [Measurement] {
        // The first names a member of the sample that holds a text.
        [("a URL that is known", "ENCRYPTED_DATA"), ("no URL", "media-url")].map { name, member in
            let stage = AttachmentStage(
                MediaMembers(url: JSONPointer(member: member)), publicBase: "https://media.example.com/",
                source: RememberedMedia())
            let turn = ChainTurn(Chain([ChainLink(stage)]))
            return Measurement("a chain of attachment, \(name)", messages: messages) { turn.run() }
        }
    }
}

private final class RememberedMedia: MediaSource {
    private let image = Media(hash: String(repeating: "0123456789abcdef", count: 4), type: .jpeg, size: 20_000)

    func known(at url: String, for context: StageContext) throws(MediaFailure) -> Media? { image }
    func media(at url: String, for context: StageContext) throws(MediaFailure) -> Media? { image }
}
