/// Headers that were read before: a sender's messages all begin with the same one.
struct JWEHeaders {
    private static let capacity = 64
    /// Longer ones are rare, and read each time.
    private static let longest = 512

    private struct Entry {
        let text: [UInt8]
        let header: JWEHeader
    }

    private var entries = [Entry?](repeating: nil, count: capacity)
    private var document = JSONDocument()

    /// Reads the header from its base64url text; `buffer` has room for it.
    mutating func header(
        _ text: UnsafeRawBufferPointer, buffer: UnsafeMutableRawPointer
    ) throws(DecryptFailure) -> JWEHeader {
        let place = Int(ByteHash.hash(text) % UInt64(Self.capacity))
        if let entry = entries[place], entry.text.withUnsafeBytes(text.hasBytes) { return entry.header }
        let count = try BinaryText.decodeBare(text, into: buffer)
        do throws(PayloadError) {
            try document.read(UnsafeRawBufferPointer(start: buffer, count: count))
        } catch {
            throw .malformed
        }
        let header = try JWEHeader(JWEHeaderMembers(document))
        if header.isRepeated, text.count <= Self.longest { entries[place] = Entry(text: Array(text), header: header) }
        return header
    }
}
