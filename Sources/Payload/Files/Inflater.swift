import CPushmillZlib

/// Inflates raw DEFLATE (RFC 1951).
package final class Inflater {
    private let stream: UnsafeMutablePointer<z_stream>

    /// Nil if memory runs out or zlib is not compatible with the version this was built for.
    package init?() {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Negative: no header; the largest window.
        guard inflateInit2_(stream, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            stream.deallocate()
            return nil
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Inflates everything at once; `.tooLarge` if it does not fit into the output.
    package func inflate(
        _ input: UnsafeMutableRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) -> Inflated {
        inflateReset(stream)
        stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_in = UInt32(input.count)
        stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = UInt32(output.count)
        let result = CPushmillZlib.inflate(stream, Z_FINISH)
        let room = Int(stream.pointee.avail_out)
        switch result {
        case Z_STREAM_END where stream.pointee.avail_in == 0: return .bytes(output.count - room)
        case Z_BUF_ERROR where room == 0: return .tooLarge
        default: return .malformed
        }
    }
}

package enum Inflated {
    /// The number of bytes written.
    case bytes(Int)
    case tooLarge
    case malformed
}
