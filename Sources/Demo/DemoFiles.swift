/// What a service needs to know for the sample events: stages, keys, contacts. `deploy/sample` has the same, for
/// services that the demo feeds.
package enum DemoFiles {
    /// By their paths beside the configuration.
    package static let all = [
        "keys.jwks.json": PackageResources.keys_jwks_json, "contacts.jsonl": PackageResources.contacts_jsonl,
        "catalog/Localizable.xcstrings": PackageResources.Localizable_xcstrings,
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
}
