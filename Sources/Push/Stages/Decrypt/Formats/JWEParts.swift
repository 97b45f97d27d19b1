import Glibc

/// The five parts of a compact JWE, as text.
struct JWETexts {
    let header: UnsafeRawBufferPointer
    let key: UnsafeRawBufferPointer
    let nonce: UnsafeRawBufferPointer
    let content: UnsafeRawBufferPointer
    let tag: UnsafeRawBufferPointer

    init(_ text: UnsafeRawBufferPointer) throws(DecryptFailure) {
        var rest = text
        header = try Self.cut(&rest)
        key = try Self.cut(&rest)
        nonce = try Self.cut(&rest)
        content = try Self.cut(&rest)
        // A further dot is no base64url.
        tag = rest
    }

    private static func cut(_ rest: inout UnsafeRawBufferPointer) throws(DecryptFailure) -> UnsafeRawBufferPointer {
        guard let start = rest.baseAddress, let dot = memchr(start, Int32(UInt8(ascii: ".")), rest.count) else {
            throw .malformed
        }
        let count = UnsafeRawPointer(dot) - start
        defer { rest = UnsafeRawBufferPointer(rebasing: rest[(count + 1)...]) }
        return UnsafeRawBufferPointer(rebasing: rest[..<count])
    }
}

/// The parts of a compact JWE, decoded one after the other from a buffer's beginning.
struct JWEParts {
    let key: UnsafeMutableRawBufferPointer
    let nonce: UnsafeMutableRawBufferPointer
    let content: UnsafeMutableRawBufferPointer
    let tag: UnsafeMutableRawBufferPointer

    /// The buffer has room for the whole text and 8 bytes more.
    init(_ texts: JWETexts, into buffer: UnsafeMutableRawPointer) throws(DecryptFailure) {
        var next = buffer
        key = try Self.decode(texts.key, &next)
        nonce = try Self.decode(texts.nonce, &next)
        content = try Self.decode(texts.content, &next)
        tag = try Self.decode(texts.tag, &next)
    }

    private static func decode(
        _ text: UnsafeRawBufferPointer, _ next: inout UnsafeMutableRawPointer
    ) throws(DecryptFailure) -> UnsafeMutableRawBufferPointer {
        let count = try BinaryText.decodeBare(text, into: next)
        defer { next += count }
        return UnsafeMutableRawBufferPointer(start: next, count: count)
    }
}
