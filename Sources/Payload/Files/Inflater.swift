import CPushmillZlib

/// Inflates raw DEFLATE (RFC 1951).
package final class Inflater {
    private let stream: UnsafeMutablePointer<z_stream>

    package init() throws(InflateFailure) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Negative: no header, the largest window.
        guard inflateInit2_(stream, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            stream.deallocate()
            throw .unavailable
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Inflates all at once; what does not fit into the output is too large. Returns how much was written.
    package func inflate(
        _ input: UnsafeMutableRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(InflateFailure) -> Int {
        guard inflateReset(stream) == Z_OK else { throw .unavailable }
        stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_in = UInt32(input.count)
        stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = UInt32(output.count)
        switch CPushmillZlib.inflate(stream, Z_FINISH) {
        case Z_STREAM_END where stream.pointee.avail_in == 0: return output.count - Int(stream.pointee.avail_out)
        case Z_BUF_ERROR where stream.pointee.avail_out == 0: throw .tooLarge
        default: throw .malformed
        }
    }
}

package enum InflateFailure: Error {
    /// No memory, or no such library as this was built for.
    case unavailable
    case tooLarge
    case malformed
}
