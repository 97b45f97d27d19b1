import PushmillPayload

/// Makes keys for a key set. The caller must wipe the results; no other copy stays in memory.
package enum KeyGenerator {
    /// Returns the JWK of a new key. `count` is its length in bytes, if the use leaves a choice.
    package static func generate(
        _ use: KeyUse, name: String?, count: Int? = nil
    ) throws(DecryptFailure) -> [UInt8] {
        var text = room(for: 4096)
        text.append("{")
        var secrets: [(name: StaticString, value: SecretBytes)]
        if use.isElliptic {
            let (pair, secret) = try EllipticKey.generate()
            text.append(publicMembersOf: pair)
            secrets = [("d", secret)]
        } else {
            text.append("oct", as: "kty")
            secrets = [("k", try octets(use, count))]
        }
        if let name { text.append(name, as: "kid") }
        if use == .webPush {
            secrets.append(("auth", try SecretBytes.random(WebPushForm.saltCount)))
        } else {
            text.append(use.name, as: "alg")
        }
        for secret in secrets {
            text.begin(secret.name)
            text.append("\"")
            withExtendedLifetime(secret.value) { Base64.encode(secret.value.bytes, forURL: true, into: &text) }
            text.append("\"")
        }
        text.append("}")
        return text
    }

    /// The text of the set with the key added; without a set, a new one. Nil if the text is not a key set.
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
            // People may type a passphrase, so it is text.
            let bytes = try SecretBytes.random(24)
            var text = room(for: 32)
            defer { text.wipe() }
            withExtendedLifetime(bytes) { Base64.encode(bytes.bytes, forURL: true, into: &text) }
            return SecretBytes(text)
        }
        guard let count = count ?? (counts.contains(32) ? 32 : counts.first), counts.contains(count) else {
            throw .unsupported
        }
        return try SecretBytes.random(count)
    }

    /// Reserved up front: an array that grows leaves its old contents in memory.
    private static func room(for count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        return bytes
    }
}

extension DecryptionKey {
    /// What a sender must know of a key pair, as JSON: the public key or a web push subscription's keys. Nil for a
    /// key that both sides share.
    package var published: String? {
        guard let pair else { return nil }
        var text = Array("{".utf8)
        if use == .webPush {
            text.append(Base64.urlText(pair.point), as: "p256dh")
            text.append(Base64.urlText(Array(secret.bytes)), as: "auth")
        } else {
            text.append(publicMembersOf: pair)
            if let name { text.append(name, as: "kid") }
            text.append(use.name, as: "alg")
        }
        return String(decoding: text, as: UTF8.self) + "}"
    }
}

extension [UInt8] {
    /// The members of a JWK that give the public point.
    mutating func append(publicMembersOf key: EllipticKey) {
        append("EC", as: "kty")
        append("P-256", as: "crv")
        append(Base64.urlText(Array(key.point[1...32])), as: "x")
        append(Base64.urlText(Array(key.point[33...])), as: "y")
    }
}
