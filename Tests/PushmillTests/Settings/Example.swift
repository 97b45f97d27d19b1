import Push

@testable import Pushmill

/// The configuration that shows every section and name.
enum Example {
    static let text = #"""
        kafka:
          bootstrap.servers: kafka:9092
          client.id: pushmill
          consumer:
            group.id: pushmill
            auto.offset.reset: earliest
          producer:
            linger.ms: 5

        topics:
          input: [push.events]
          output: push.notifications
          dead-letter: push.dead-letters
          badge-changelog: push.badges

        delivery:
          guarantee: at-least-once
          ordering: key
          deadline: 30s
          expired: publish
          max-in-flight: 10000
          max-in-flight-bytes: 64MiB
          checkpoint-interval: 200ms
          drain: 5s
          shutdown-grace: 25s
          lanes: auto

        state:
          path: /var/lib/pushmill/state.sqlite

        stages:
          - decrypt:
              keys: /etc/pushmill/keys.jwks.json
              formats: [jwe, openssl, aes-gcm, chacha20-poly1305, webpush]
              openssl: { digest: sha256 }
              webpush: { dh-from: /k, salt-from: /s }
              key-id-from: ["/ENCRYPTION_KEY_ID", "header:encryption-key-id", recipient]
              required: false
              fields:
                - from: /ENCRYPTED_DATA
                  to: /aps/alert/body
              placeholder: "(Encrypted)"
          - localize:
              catalog: /etc/pushmill/catalog
              default-locale: en
              locale-from: ["header:locale", "/locale"]
          - contact:
              source: state
              owner-from: ["header:recipient", key]
              replace: [/aps/alert/title]
              unknown: "Someone"
              isolate: true
              in-decrypted: true
          - badge:
              mode: increment
          - attachment:
              when: { has: /media-url }
              budget: 10s
              from: /media-url
              store: /var/lib/pushmill/media
              public-base: https://media.example.com/
              allow-hosts: [cdn.example.com]
              note: "📷"

        admin:
          listen: 127.0.0.1:9464
          token-file:

        log:
          level: info
          format: auto
        """#
}

extension StageRegistry {
    /// The stages of the example with the settings it has, whatever the real ones have beyond them.
    static let example = StageRegistry(adding: [
        StageEntry("decrypt") { settings in
            _ = settings.required("keys", .file)
            _ = settings.list("formats", .name)
            settings.map("openssl") {
                _ = $0.optional("digest", .name)
                _ = $0.optional("iterations", .integer(1...10_000_000))
            }
            settings.map("webpush") {
                _ = $0.optional("dh-from", .pointer)
                _ = $0.optional("salt-from", .pointer)
            }
            _ = settings.list("key-id-from", .name)
            _ = settings.value("required", .bool, default: false)
            _ = settings.maps("fields", implied: 1) {
                _ = $0.value("from", .name, default: "/ENCRYPTED_DATA")
                _ = $0.value("to", .name, default: "/aps/alert/body")
            }
            _ = settings.value("placeholder", .text, default: "(Encrypted)")
            return { _ in throw NotBuilt() }
        },
        StageEntry("localize") { settings in
            _ = settings.required("catalog", .file)
            _ = settings.value("default-locale", .name, default: "en")
            _ = settings.list("locale-from", .name, default: ["header:locale"])
            return { _ in throw NotBuilt() }
        },
        StageEntry("contact") { settings in
            _ = settings.value("source", .name, default: "state")
            _ = settings.list("owner-from", .name)
            _ = settings.list("replace", .pointer)
            _ = settings.value("unknown", .text, default: "Someone")
            _ = settings.value("isolate", .bool, default: true)
            _ = settings.value("in-decrypted", .bool, default: true)
            return { _ in throw NotBuilt() }
        },
        StageEntry("badge") { settings in
            _ = settings.value("mode", .choice(["increment", "absolute"], name: { $0 }), default: "increment")
            return { _ in throw NotBuilt() }
        },
        StageEntry("attachment") { settings in
            for key in ["from", "store", "public-base", "note"] { _ = settings.required(key, .name) }
            _ = settings.list("allow-hosts", .name)
            return { _ in throw NotBuilt() }
        },
    ])

    private struct NotBuilt: Error {}
}
