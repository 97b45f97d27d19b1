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
          checkpoint-interval: 20ms
          drain: 5s
          shutdown-grace: 25s
          cores: auto

        state:
          path: /var/lib/pushmill/state

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
