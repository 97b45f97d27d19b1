/// The SHA-256 of bytes that come piece by piece. Belongs to one thread at a time.
package final class ContentHash {
    private let context: DigestContext

    /// Fails only where no memory is left.
    package init() throws(FileFailure) {
        do throws(DecryptFailure) {
            context = try DigestContext(.sha256)
            try context.begin()
        } catch {
            throw Self.failure
        }
    }

    package func add(_ bytes: UnsafeRawBufferPointer) throws(FileFailure) {
        do throws(DecryptFailure) { try context.add(bytes) } catch { throw Self.failure }
    }

    /// As hex. What is added later begins another one.
    package func end() throws(FileFailure) -> String {
        var bytes = [UInt8](repeating: 0, count: context.count)
        do throws(DecryptFailure) {
            var span = bytes.mutableSpan
            try span.withUnsafeMutableBytes { (bytes) throws(DecryptFailure) in
                if let base = bytes.baseAddress { try context.end(into: base) }
            }
            try context.begin()
        } catch {
            throw Self.failure
        }
        return bytes.reduce(into: "") { text, byte in
            text += String(byte >> 4, radix: 16)
            text += String(byte & 15, radix: 16)
        }
    }

    private static var failure: FileFailure { FileFailure(path: "SHA-256", what: "no hash can be computed") }
}
