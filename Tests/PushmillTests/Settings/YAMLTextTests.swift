import PushmillStages
import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("The effective configuration as YAML")
struct YAMLTextTests {
    @Test("The shown configuration reads back as the same configuration") func roundTrip() throws {
        let first = try #require(Reading(Example.text).configuration)
        let shown = YAMLText.render(first.effective)
        let again = Reading(shown)
        expect(again.problems, is: [])
        expect(again.configuration.map { YAMLText.render($0.effective) }, is: shown)
        expect(again.configuration?.effective.compact, is: first.effective.compact)
    }

    @Test("The shown configuration looks like one written by hand") func looks() throws {
        let configuration = try #require(
            Reading(
                """
                stages:
                - decrypt:
                    keys: k.json
                    formats: [jwe, openssl]
                    placeholder: 'a: b'
                - badge
                """
            ).configuration)
        let shown = YAMLText.render(configuration.effective)
        #expect(
            shown.hasPrefix(
                """
                kafka:
                  bootstrap.servers: kafka:9092
                  client.id: pushmill
                  socket.nagle.disable: true
                  statistics.interval.ms: 1000
                  consumer:

                """))
        #expect(
            shown.contains(
                """

                stages:
                  - decrypt:
                      when:
                        category: []
                        apns-topic: []
                        push-type: []
                        has:
                      budget:
                      formats: [jwe, openssl]
                      keys: /etc/pushmill/k.json
                      key-grace: 5m
                      openssl:
                        digest: sha256
                        iterations:
                      webpush:
                        header-lines: false
                        dh-from: /k
                        dh-encoding: auto
                        salt-from: /s
                        salt-encoding: auto
                      key-id-from: [/ENCRYPTION_KEY_ID, header:encryption-key-id, recipient]
                      key-binding: none
                      required: false
                      fields:
                        - from: /ENCRYPTED_DATA
                          to: /aps/alert/body
                          members: []
                          encoding: auto
                          html-entities: false
                      placeholder: "a: b"
                  - badge:

                """))
    }

    @Test("Secrets are hidden, and the hidden form reads back") func secrets() throws {
        let yaml = """
            kafka:
              sasl.password: geheim
              ssl.key.pem: geheim
              sasl.username: bob
              ssl.ca.location: ca.pem
              consumer: { ssl.key.password: geheim }
              producer: { ssl.certificate.pem: geheim }
            """
        let configuration = try #require(
            Reading(yaml, environment: ["PUSHMILL_KAFKA_SSL_KEYSTORE_PASSWORD": "geheim"]).configuration)
        expect(configuration.kafka.properties(for: .producer)["sasl.password"], is: "geheim")
        let shown = YAMLText.render(configuration.effective)
        #expect(!shown.contains("geheim"))
        #expect(!"\(configuration)".contains("geheim"))
        #expect(shown.contains("sasl.username: bob\n"))
        #expect(shown.contains("ssl.ca.location: /etc/pushmill/ca.pem\n"))
        expect(Reading(shown).configuration.map { YAMLText.render($0.effective) }, is: shown)
    }

    @Test(
        "Any text reads back unchanged",
        arguments: [
            "", " ", "a", "a b", "a: b", "a:", "a #b", "# a", "- a", "-", "null", "~", "true", "1e3", "0x1", "'", "\"",
            "\\", "a\nb", "\t", "\r\n", "\u{1}\u{7F}\u{85}\u{A0}\u{2028}\u{FEFF}\u{FFFE}", "é📷", "[a]", "{a}", "*a",
            "&a",
            "!a", "%a", "@a", "`a", "a, b", "?", "...", "---", "<<", "=", "|", ">",
        ])
    func texts(text: String) {
        let place = Place.file("f.yaml", line: 1, column: 1)
        let scalar = Setting(place: place, value: .scalar(text))
        let list = Setting(place: place, value: .list([scalar, scalar]))
        let map = Setting(place: place, value: .map([Setting.Member(key: "k\(text)", place: place, value: scalar)]))
        let nested = Setting(place: place, value: .list([map, list, scalar]))
        let members = [scalar, list, map, nested].enumerated().map {
            Setting.Member(key: "k\($0)", place: place, value: $1)
        }
        let tree = Setting(place: place, value: .map(members))
        let document = YAMLDocument(YAMLText.render(tree))
        expect(document.problems, is: [])
        expect(document.root?.compact, is: tree.compact)
    }
}
