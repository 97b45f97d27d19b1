/// Where a plaintext goes.
extension DecryptOptions.Field {
    /// Of an object that is merged: each is looked for among the payload's.
    private static let maximumMembers = 256

    /// Puts it into the content and removes the ciphertext; changes nothing if it fails.
    func put(
        _ plaintext: UnsafeMutableRawBufferPointer, into content: inout NotificationContent,
        _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) {
        switch target {
        case .member(let pointer):
            let bytes = plaintext.bindMemory(to: UInt8.self)
            let text = hasEntities ? HTMLText.unescape(bytes) : bytes
            if let alertText = self.text {
                content.setDecrypted(alertText, to: text.span)
            } else {
                // A number or a string may stand where the pointer goes through.
                guard content.set(text.span, at: pointer) else { throw .malformed }
                content.markDecrypted(at: pointer)
            }
        case .merge:
            try merge(plaintext, into: &content, &scratch)
        }
        if !isInPlace { content.remove(from) }
    }

    private func merge(
        _ plaintext: UnsafeMutableRawBufferPointer, into content: inout NotificationContent,
        _ scratch: inout DecryptScratch
    ) throws(DecryptFailure) {
        let object: JSONDocument
        do throws(PayloadError) {
            object = try scratch.read(plaintext)
        } catch {
            throw .notObject
        }
        guard object.kind(of: object.root) == .object else { throw .notObject }
        guard object.hasAtMost(Self.maximumMembers, in: object.root) else { throw .tooLarge }
        let mark = content.mark()
        do throws(DecryptFailure) {
            try object.forEachChild(of: object.root) { (member) throws(DecryptFailure) in
                try merge(member, of: object, into: &content)
            }
        } catch {
            content.rollback(to: mark)
            throw error
        }
    }

    private func merge(
        _ member: JSONNode, of object: JSONDocument, into content: inout NotificationContent
    ) throws(DecryptFailure) {
        guard !object.isNamed("aps", member) else { throw .protectedMember }
        let isListed = object.withName(of: member) { name in
            name.withUnsafeBytes { name in members.contains { $0.withUnsafeBytes(name.hasBytes) } }
        }
        guard isListed == true else { return }
        if let text = AlertText.allCases.first(where: { object.isNamed($0.member, member) }) {
            let isSet: Void? = object.withText(of: member) { value in
                guard hasEntities else { return content.setDecrypted(text, to: value) }
                withUnsafeTemporaryAllocation(of: UInt8.self, capacity: value.count) { copy in
                    _ = value.withUnsafeBufferPointer { copy.initialize(from: $0) }
                    content.setDecrypted(text, to: HTMLText.unescape(copy).span)
                }
            }
            guard isSet != nil else { throw .malformed }
        } else {
            guard content.copyMember(member, of: object) else { throw .malformed }
            content.markDecrypted(member, of: object)
        }
    }
}
