/// Texts that may be in a payload, a header or a file, and nowhere that operators look.
enum Secret: String, CaseIterable, Sendable {
    case payloadText = "zq-payload-text"
    case brokenPayload = "zq-broken-payload"
    case plaintext = "zq-plaintext"
    case locArgument = "zq-loc-argument"
    case recordKey = "zq-record-key"
    case recipient = "zq-recipient"
    case headerValue = "zq-header-value"
    case contactName = "zq-contact-name"
    case ownersContact = "zq-owners-contact"
    /// In Base64url, as in the key set.
    case keyMaterial = "enEta2V5LW1hdGVyaWFsLTMyLWJ5dGVzLWluLWFsbCE"
    case newKeyMaterial = "enEtbmV3LWtleS1tYXRlcmlhbA"
    case passphrase = "zq-passphrase"
    case adminToken = "zq-admin-token"
    case wrongToken = "zq-wrong-token"
    case password = "zq-sasl-password"
}
