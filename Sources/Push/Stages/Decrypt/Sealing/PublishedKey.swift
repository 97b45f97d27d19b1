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
            (name: "p256dh", value: SealedText.base64URL(pair.point)),
            (name: "auth", value: SealedText.base64URL(Array(secret.bytes))),
        ]
        return "{" + JSONText.members(members) + "}"
    }
}
