import PushmillPayload

/// Makes keys for a key set. What it gives is the caller's to wipe; nothing of it stays elsewhere in memory.
package enum KeyGenerator {
    /// The JWK of a new key. `count` is its length where the use leaves a choice.
    package static func generate(
        _ use: KeyUse, name: String?, count: Int? = nil
    ) throws(DecryptFailure) -> [UInt8] {
        var members = name.map { [(name: "kid", value: $0)] } ?? []
        var secrets: [(name: StaticString, value: SecretBytes)]
        if use.isElliptic {
            let (pair, secret) = try EllipticKey.generate()
            members = pair.publicMembers + members
            secrets = [("d", secret)]
            if use == .webPush {
                secrets.append(("auth", try SecretBytes.random(WebPushForm.saltCount)))
            } else {
                members.append(("alg", use.name))
            }
        } else {
            members = [("kty", "oct")] + members + [("alg", use.name)]
            secrets = [("k", try octets(use, count))]
        }
        var text = room(for: 4096)
        text += "{\(JSONText.members(members))".utf8
        for secret in secrets {
            text.append(",\"")
            text.append(secret.name)
            text.append("\":\"")
            withExtendedLifetime(secret.value) { Base64.encodeURL(secret.value.bytes, into: &text) }
            text.append("\"")
        }
        text.append("}")
        return text
    }

    /// The text of a set with a key more, or of one that begins with it. Nil if the text is no set.
    package static func add(_ key: [UInt8], to set: [UInt8]?) -> [UInt8]? {
        let set = set ?? Array("{\"keys\":[\n]}\n".utf8)
        var document = JSONDocument()
        defer { document.wipe() }
        guard set.withUnsafeBytes({ (try? document.read($0)) != nil }),
            let list = document.member("keys", of: document.root), document.kind(of: list) == .array
        else { return nil }
        let end = document.end(of: list) - 1
        var text = room(for: set.count + key.count + 2)
        text += set[..<end]
        text.append(document.childCount(of: list) > 0 ? "," : "")
        text += key
        text.append("\n")
        text += set[end...]
        return text
    }

    private static func octets(_ use: KeyUse, _ count: Int?) throws(DecryptFailure) -> SecretBytes {
        guard let counts = use.counts else {
            // A passphrase is typed.
            let bytes = try SecretBytes.random(24)
            var text = room(for: 32)
            defer { text.wipe() }
            withExtendedLifetime(bytes) { Base64.encodeURL(bytes.bytes, into: &text) }
            return SecretBytes(text)
        }
        guard let count = count ?? (counts.contains(32) ? 32 : counts.first), counts.contains(count) else {
            throw .unsupported
        }
        return try SecretBytes.random(count)
    }

    /// An array that grows leaves what it held behind.
    private static func room(for count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        return bytes
    }
}

extension DecryptionKey {
    /// What a sender must be told of a key pair, as JSON: the public key, or a web push subscription's keys. Nil for a
    /// key that both sides have.
    package var published: String? {
        guard let pair else { return nil }
        guard use == .webPush else {
            let name = name.map { [(name: "kid", value: $0)] } ?? []
            return "{" + JSONText.members(pair.publicMembers + name + [("alg", use.name)]) + "}"
        }
        let members = [
            (name: "p256dh", value: Base64.urlText(pair.point)),
            (name: "auth", value: Base64.urlText(Array(secret.bytes))),
        ]
        return "{" + JSONText.members(members) + "}"
    }
}

extension JSONText {
    /// Members with strings for values, without the braces around them.
    static func members(_ members: [(name: String, value: String)]) -> String {
        var text: [UInt8] = []
        for (name, value) in members {
            if !text.isEmpty { text.append(UInt8(ascii: ",")) }
            for (part, end) in [(name, ":"), (value, "")] {
                Array(part.utf8).withUnsafeBufferPointer { appendQuoted($0, to: &text) }
                text += Array(end.utf8)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension EllipticKey {
    /// The members of a JWK that say which point it is.
    var publicMembers: [(name: String, value: String)] {
        [
            ("kty", "EC"), ("crv", "P-256"), ("x", Base64.urlText(Array(point[1...32]))),
            ("y", Base64.urlText(Array(point[33...]))),
        ]
    }
}
