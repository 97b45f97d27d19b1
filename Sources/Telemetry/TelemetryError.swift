import Glibc

/// Errors of starting the log or the admin endpoint, or of probing one. Numbers are the `errno` of the failed call.
public enum TelemetryError: Error, Equatable, Sendable {
    case invalidListenAddress(String)
    /// The address, and the system's reason.
    case noAnswer(String, Int32)
    case addressInUse(String)
    case cannotListen(String, Int32)
    case noPipe(Int32)
    case noThread(Int32)
}

extension TelemetryError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noAnswer(let address, let code): "no answer from \(address): \(systemMessage(code))"
        case .invalidListenAddress(let text): "\"\(text)\" is not an address to listen on, such as 127.0.0.1:9464"
        case .addressInUse(let address): "another program is listening on \(address)"
        case .cannotListen(let address, let code): "cannot listen on \(address): \(systemMessage(code))"
        case .noPipe(let code): "cannot create a pipe: \(systemMessage(code))"
        case .noThread(let code): "cannot create a thread: \(systemMessage(code))"
        }
    }
}

/// What the C library says about an `errno`; safe on any thread since glibc 2.32.
func systemMessage(_ code: Int32) -> String {
    strerror(code).map { String(cString: $0) } ?? "error \(code)"
}
