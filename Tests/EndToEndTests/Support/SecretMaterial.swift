import PushmillTestSupport

@testable import PushmillCiphers
@testable import PushmillPayload
@testable import PushmillStages

/// Files and records that are full of secrets.
struct SecretMaterial: Sendable {
    let tokenFile: String
    let stages: [String]
    private let folder: TemporaryFolder
    private let keys: String
    private let contacts: String

    init() throws {
        folder = try TemporaryFolder()
        tokenFile = try folder.write(Secret.adminToken.rawValue, to: "token")
        keys = try folder.write(
            """
            {"keys":[{"kty":"oct","kid":"k1","alg":"A256GCM","k":"\(Secret.keyMaterial.rawValue)"},
            {"kty":"oct","alg":"openssl","k":"\(Base64.urlText(Array(Secret.passphrase.rawValue.utf8)))"}]}
            """, to: "keys.json")
        contacts = try folder.write(
            """
            {"owner":"\(Secret.recipient.rawValue)","id":"c1","name":"\(Secret.ownersContact.rawValue)"}
            {"id":"c2","name":"\(Secret.contactName.rawValue)"}

            """, to: "contacts.jsonl")
        let catalog = try folder.write(
            #"{"sourceLanguage":"en","strings":{"FROM %@":{}},"version":"1.0"}"#, to: "Localizable.xcstrings")
        stages = [
            "decrypt: { keys: \(keys), formats: [aes-gcm, openssl] }",
            "localize: { catalog: \(catalog.dropLast("/Localizable.xcstrings".count)) }",
            "contact: { source: \(contacts) }", "hang: { marker: slow }",
            "attachment: { when: { has: /media-url }, store: \(folder.path)/media, "
                + "public-base: 'https://media.example.com/', allow-hosts: [cdn.example.com] }",
        ]
    }

    static func headers(recipient: String) -> [(name: String, value: String)] {
        [
            ("recipient", recipient), ("locale", "en"), ("x-custom", Secret.headerValue.rawValue),
            ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
            ("tracestate", Secret.headerValue.rawValue),
        ]
    }

    /// How many of the records cannot be notifications.
    static let brokenCount = 3

    func records() throws -> [(key: String, value: [UInt8])] {
        let sealed = try seal(.aesGCM)
        let values = [
            #"{"aps":{"alert":"\#(Secret.payloadText.rawValue)"}}"#,
            #"{"aps":{"mutable-content":1,"alert":"{contact:c1} {contact:c2} \#(Secret.payloadText.rawValue)"}}"#,
            #"{"aps":{"mutable-content":1,"alert":{"loc-key":"FROM %@","loc-args":["\#(Secret.locArgument.rawValue)"]}}}"#,
            #"{"aps":{"mutable-content":1,"alert":{"loc-key":"FROM %@","loc-args":[{"\#(Secret.locArgument.rawValue)":1}]}}}"#,
            encrypted(sealed), encrypted(try seal(.openSSL)), encrypted("A\(sealed.dropFirst())"),
            encrypted(String(sealed.dropLast(8))), encrypted(Secret.payloadText.rawValue),
            #"{"aps":{"alert":"\#(Secret.brokenPayload.rawValue)"#, #"["\#(Secret.brokenPayload.rawValue)"]"#,
            #"{"\#(Secret.brokenPayload.rawValue)":1}"#,
        ]
        return values.map { (Secret.recordKey.rawValue, Array($0.utf8)) }
    }

    private func seal(_ form: SealingForm) throws -> String {
        let ring = try KeySetFile.open(keys, StageResources { _, _ in }).value
        return try Sealer().seal(Array(Secret.plaintext.rawValue.utf8), as: form, ring).text
    }

    private func encrypted(_ text: String) -> String {
        #"{"aps":{"mutable-content":1,"alert":"\#(Secret.payloadText.rawValue)"},"ENCRYPTED_DATA":"\#(text)"}"#
    }

    /// Replaces the files by unreadable ones, whose secrets errors might quote.
    func spoilFiles() throws {
        try folder.write(
            #"{"keys":[{"kty":"oct","kid":"k1","alg":"A256GCM","k":"\#(Secret.newKeyMaterial.rawValue)"}]}"#,
            to: "keys.json")
        try folder.write(
            #"{"owner":"x","id":"c1","name":"\#(Secret.contactName.rawValue)"\#n"# + "\n", to: "contacts.jsonl")
    }
}
