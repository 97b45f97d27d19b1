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
