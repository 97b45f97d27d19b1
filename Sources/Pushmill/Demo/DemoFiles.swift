import Glibc

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

/// The demo's files in a folder of their own, removed with the value.
final class DemoFolder: Sendable {
    let path: String

    init() throws(ProgramError) {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/pushmill-demo-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Self.failure(parent) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        for (name, text) in DemoFiles.all {
            if let slash = name.firstIndex(of: "/") { mkdir("\(path)/\(name[..<slash])", 0o700) }
            try Self.write(text, to: "\(path)/\(name)")
        }
    }

    deinit { Self.remove(path) }

    private static func write(_ text: String, to file: String) throws(ProgramError) {
        guard let stream = fopen(file, "w") else { throw failure(file) }
        fputs(text, stream)
        guard fclose(stream) == 0 else { throw failure(file) }
        // Keys that others can read are worth a warning.
        chmod(file, 0o600)
    }

    private static func failure(_ path: String) -> ProgramError {
        .internalFailure("\(path) cannot be written: \(String(cString: strerror(errno)))")
    }

    /// With all that came to be in it.
    private static func remove(_ path: String) {
        guard let folder = opendir(path) else {
            unlink(path)
            return
        }
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { remove("\(path)/\(name)") }
        }
        closedir(folder)
        rmdir(path)
    }
}

extension DemoFiles {
    /// A String Catalog in eight languages.
    static let catalog = #"""
        {"sourceLanguage": "en", "version": "1.0", "strings": {
        "GAME": {"localizations": {
          "en": {"stringUnit": {"state": "translated", "value": "%@ challenges you to a game"}},
          "de": {"stringUnit": {"state": "translated", "value": "%@ fordert dich zum Spiel heraus"}},
          "es": {"stringUnit": {"state": "translated", "value": "%@ te reta a una partida"}},
          "fr": {"stringUnit": {"state": "translated", "value": "%@ vous défie"}},
          "ru": {"stringUnit": {"state": "translated", "value": "%@ вызывает вас на игру"}},
          "ar": {"stringUnit": {"state": "translated", "value": "%@ يتحداك في لعبة"}},
          "ja": {"stringUnit": {"state": "translated", "value": "%@から対戦の申し込みです"}},
          "pl": {"stringUnit": {"state": "translated", "value": "%@ rzuca ci wyzwanie"}}
        }},
        "PARCEL": {"localizations": {
          "en": {"stringUnit": {"state": "translated", "value": "Arrives between %1$@ and %2$@"}},
          "de": {"stringUnit": {"state": "translated", "value": "Kommt zwischen %1$@ und %2$@ Uhr"}},
          "es": {"stringUnit": {"state": "translated", "value": "Llega entre las %1$@ y las %2$@"}},
          "fr": {"stringUnit": {"state": "translated", "value": "Arrive entre %1$@ et %2$@"}},
          "ru": {"stringUnit": {"state": "translated", "value": "Доставка с %1$@ до %2$@"}},
          "ar": {"stringUnit": {"state": "translated", "value": "تصل بين %1$@ و %2$@"}},
          "ja": {"stringUnit": {"state": "translated", "value": "%1$@から%2$@の間に届きます"}},
          "pl": {"stringUnit": {"state": "translated", "value": "Dotrze między %1$@ a %2$@"}}
        }},
        "PARCEL_TITLE": {"localizations": {
          "en": {"stringUnit": {"state": "translated", "value": "Your parcel"}},
          "de": {"stringUnit": {"state": "translated", "value": "Dein Paket"}},
          "es": {"stringUnit": {"state": "translated", "value": "Tu paquete"}},
          "fr": {"stringUnit": {"state": "translated", "value": "Votre colis"}},
          "ru": {"stringUnit": {"state": "translated", "value": "Ваша посылка"}},
          "ar": {"stringUnit": {"state": "translated", "value": "طردك"}},
          "ja": {"stringUnit": {"state": "translated", "value": "お荷物"}},
          "pl": {"stringUnit": {"state": "translated", "value": "Twoja paczka"}}
        }},
        "PHOTOS": {"localizations": {
          "en": {"variations": {"plural": {
            "one": {"stringUnit": {"state": "translated", "value": "%1$lld new photo from %2$@"}},
            "other": {"stringUnit": {"state": "translated", "value": "%1$lld new photos from %2$@"}}
          }}},
          "de": {"variations": {"plural": {
            "one": {"stringUnit": {"state": "translated", "value": "%1$lld neues Foto von %2$@"}},
            "other": {"stringUnit": {"state": "translated", "value": "%1$lld neue Fotos von %2$@"}}
          }}},
          "es": {"variations": {"plural": {
            "one": {"stringUnit": {"state": "translated", "value": "%1$lld foto nueva de %2$@"}},
            "other": {"stringUnit": {"state": "translated", "value": "%1$lld fotos nuevas de %2$@"}}
          }}},
          "fr": {"variations": {"plural": {
            "one": {"stringUnit": {"state": "translated", "value": "%1$lld nouvelle photo de %2$@"}},
            "other": {"stringUnit": {"state": "translated", "value": "%1$lld nouvelles photos de %2$@"}}
          }}},
          "ru": {"variations": {"plural": {
            "one": {"stringUnit": {"state": "translated", "value": "%1$lld новое фото от %2$@"}},
            "few": {"stringUnit": {"state": "translated", "value": "%1$lld новых фото от %2$@"}},
            "many": {"stringUnit": {"state": "translated", "value": "%1$lld новых фото от %2$@"}},
            "other": {"stringUnit": {"state": "translated", "value": "%1$lld новых фото от %2$@"}}
          }}},
          "ar": {"variations": {"plural": {
            "zero": {"stringUnit": {"state": "translated", "value": "لا صور جديدة من %2$@"}},
            "one": {"stringUnit": {"state": "translated", "value": "صورة جديدة من %2$@"}},
            "two": {"stringUnit": {"state": "translated", "value": "صورتان جديدتان من %2$@"}},
            "few": {"stringUnit": {"state": "translated", "value": "%1$lld صور جديدة من %2$@"}},
            "many": {"stringUnit": {"state": "translated", "value": "%1$lld صورة جديدة من %2$@"}},
            "other": {"stringUnit": {"state": "translated", "value": "%1$lld صورة جديدة من %2$@"}}
          }}},
          "ja": {"variations": {"plural": {
            "other": {"stringUnit": {"state": "translated", "value": "%2$@からの新しい写真が%1$lld枚"}}
          }}},
          "pl": {"variations": {"plural": {
            "one": {"stringUnit": {"state": "translated", "value": "%1$lld nowe zdjęcie od: %2$@"}},
            "few": {"stringUnit": {"state": "translated", "value": "%1$lld nowe zdjęcia od: %2$@"}},
            "many": {"stringUnit": {"state": "translated", "value": "%1$lld nowych zdjęć od: %2$@"}},
            "other": {"stringUnit": {"state": "translated", "value": "%1$lld nowego zdjęcia od: %2$@"}}
          }}}
        }}
        }}

        """#
}
