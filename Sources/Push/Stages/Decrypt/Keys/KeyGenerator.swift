/// Makes keys for a key set.
package enum KeyGenerator {
    /// The JWK of a new key. `count` is its length where the use leaves a choice.
    package static func generate(
        _ use: KeyUse, name: String?, count: Int? = nil
    ) throws(DecryptFailure) -> String {
        var members: [(name: String, value: String)] = []
        if let name { members.append(("kid", name)) }
        if use.isElliptic {
            let (pair, secret) = try EllipticKey.generate()
            members = pair.publicMembers + members + [("d", Base64.urlText(Array(secret.bytes)))]
            members.append(
                use == .webPush ? ("auth", try random(WebPushForm.saltCount)) : ("alg", use.name))
        } else {
            members = [("kty", "oct")] + members + [("alg", use.name), ("k", try octets(use, count))]
        }
        return "{" + JSONText.members(members) + "}"
    }

    /// Adds a key to the text of a set, or begins one. Nil if the text is no set.
    package static func add(_ key: String, to set: [UInt8]?) -> String? {
        guard let set else { return "{\"keys\":[\n\(key)\n]}\n" }
        var document = JSONDocument()
        let isSet = set.withUnsafeBytes { (try? document.read($0)) != nil }
        guard isSet, let end = JSONPointer("/keys/-"), document.set(json: Array(key.utf8).span, at: end) else {
            return nil
        }
        var text: [UInt8] = []
        document.render(into: &text)
        return String(decoding: text, as: UTF8.self)
    }

    private static func octets(_ use: KeyUse, _ count: Int?) throws(DecryptFailure) -> String {
        // A passphrase is typed.
        guard let counts = use.counts else { return Base64.urlText(Array(try random(24).utf8)) }
        guard let count = count ?? (counts.contains(32) ? 32 : counts.first), counts.contains(count) else {
            throw .unsupported
        }
        return try random(count)
    }

    private static func random(_ count: Int) throws(DecryptFailure) -> String {
        Base64.urlText(try SealingContext().random(count))
    }
}
