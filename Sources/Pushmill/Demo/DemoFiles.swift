/// What a service needs to know for the sample events: stages, keys, contacts. `deploy/sample` has the same, for
/// services that the demo feeds.
package enum DemoFiles {
    /// By their paths beside the configuration.
    package static let all = [
        ("keys.jwks.json", keys), ("contacts.jsonl", contacts), ("catalog/Localizable.xcstrings", catalog),
    ]

    /// The section of a configuration.
    package static let stages = """
        stages:
          - decrypt:
              keys: keys.jwks.json
              formats: [jwe, openssl, aes-gcm, chacha20-poly1305]
              key-id-from: [/ENCRYPTION_KEY_ID]
          - localize: { catalog: catalog, default-locale: en }
          - contact: { source: contacts.jsonl }
          - badge: { mode: increment }

        """

    static let keys = """
        {"keys": [
          {"kty": "oct", "kid": "chat", "alg": "dir", "k": "YSBzYW1wbGUga2V5LCBrbm93biB0byBldmVyeWJvZHk"},
          {"kty": "oct", "kid": "bank", "alg": "A256GCM", "k": "YW5vdGhlciBrZXkgdGhhdCBpcyBub3QgYSBzZWNyZXQ"},
          {"kty": "oct", "kid": "lock", "alg": "C20P", "k": "bmV2ZXIgdXNlIHRoZXNlIG91dHNpZGUgYSBzYW1wbGU"},
          {"kty": "oct", "kid": "mail", "alg": "openssl", "k": "Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZQ"}
        ]}

        """

    private static let contacts = """
        {"owner": "anna", "id": "c1", "name": "Zoë Martin"}
        {"owner": "anna", "id": "c2", "name": "Dad"}
        {"owner": "ben", "id": "c1", "name": "Zoë aus Lyon"}
        {"owner": "ben", "id": "c3", "name": "Oma Hilde"}
        {"owner": "sofía", "id": "c2", "name": "Javier"}
        {"owner": "dmitri", "id": "c1", "name": "Мама"}
        {"owner": "fatima", "id": "c2", "name": "علي حسن"}
        {"owner": "hana", "id": "c1", "name": "田中さん"}
        {"owner": "paweł", "id": "c3", "name": "Kasia"}
        {"id": "c1", "name": "Z. Martin"}
        {"id": "c4", "name": "Support team"}

        """
}
