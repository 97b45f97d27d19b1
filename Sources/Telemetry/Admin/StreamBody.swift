import CPushmillMicrohttpd
import Glibc

/// The body of one response that comes piece by piece.
final class StreamBody {
    private static let quietTime: Int64 = 15_000_000_000

    let connection: OpaquePointer
    private let stream: any AdminStream
    private let loop: AdminLoop
    private var lastWrite = nanoseconds(of: CLOCK_MONOTONIC)

    init(_ stream: any AdminStream, connection: OpaquePointer, loop: AdminLoop) {
        self.stream = stream
        self.connection = connection
        self.loop = loop
    }

    /// The response is destroyed by `MHD_destroy_response` or at its end, which releases this object.
    func makeResponse() -> OpaquePointer? {
        MHD_create_response_from_callback(
            UInt64.max, 4_096, readStream, Unmanaged.passRetained(self).toOpaque(), releaseStream)
    }

    fileprivate func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        if loop.isClosing { return -1 }
        let now = nanoseconds(of: CLOCK_MONOTONIC)
        switch stream.read(into: buffer, isQuiet: isQuiet(now)) {
        case .wrote(let count):
            lastWrite = now
            return count
        case .waiting:
            loop.suspend(self)
            return 0
        case .end: return -1
        }
    }

    private func isQuiet(_ now: Int64) -> Bool { now - lastWrite > Self.quietTime }

    /// It would have something to write.
    func isDue(_ now: Int64) -> Bool { stream.hasNews || isQuiet(now) }

    fileprivate func close() { loop.closeStream() }
}

/// Called when the connection can take more. Zero is only allowed for a connection that is suspended; -1 ends the body.
private func readStream(
    _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int
) -> Int {
    guard let context, let buffer else { return -1 }
    return Unmanaged<StreamBody>.fromOpaque(context).takeUnretainedValue()
        .read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
}

/// Called once, when the response is destroyed.
private func releaseStream(_ context: UnsafeMutableRawPointer?) {
    guard let context else { return }
    Unmanaged<StreamBody>.fromOpaque(context).takeRetainedValue().close()
}
