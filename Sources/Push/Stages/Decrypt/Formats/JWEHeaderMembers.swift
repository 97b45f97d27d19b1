/// The members of a JWE's header, as they are read.
struct JWEHeaderMembers {
    private let document: JSONDocument
    private let object: JSONNode

    init(_ document: JSONDocument) throws(DecryptFailure) {
        try self.init(document, document.root)
    }

    private init(_ document: JSONDocument, _ object: JSONNode) throws(DecryptFailure) {
        guard document.kind(of: object) == .object else { throw .malformed }
        self.document = document
        self.object = object
    }

    func has(_ name: StaticString) -> Bool { document.member(name, of: object) != nil }

    /// Nil if it is not there, an error if it is something else than a string.
    func text(_ name: StaticString) throws(DecryptFailure) -> String? {
        guard let node = document.member(name, of: object) else { return nil }
        guard let text = document.string(of: node) else { throw .malformed }
        return text
    }

    func agreement() throws(DecryptFailure) -> JWEHeader.Agreement {
        guard let node = document.member("epk", of: object) else { throw .malformed }
        let key = try JWEHeaderMembers(document, node)
        guard try key.text("kty") == "EC", try key.text("crv") == "P-256" else { throw .unsupported }
        guard let x = try key.bytes("x", count: 32), let y = try key.bytes("y", count: 32) else { throw .malformed }
        return JWEHeader.Agreement(
            point: [4] + x + y, partyU: try bytes("apu") ?? [], partyV: try bytes("apv") ?? [])
    }

    func wrapping() throws(DecryptFailure) -> JWEHeader.Wrapping {
        guard let nonce = try bytes("iv", count: Cipher.nonceCount), let tag = try bytes("tag", count: Cipher.tagCount)
        else { throw .malformed }
        return JWEHeader.Wrapping(nonce: nonce, tag: tag)
    }

    private func bytes(_ name: StaticString, count: Int? = nil) throws(DecryptFailure) -> [UInt8]? {
        guard let text = try text(name) else { return nil }
        let bytes = try BinaryText.bytes(ofBare: text)
        guard count == nil || bytes.count == count else { throw .malformed }
        return bytes
    }
}
