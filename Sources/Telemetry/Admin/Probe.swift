import Glibc

/// One thing that keeps the service from being alive or ready.
public struct ProbeReason: Sendable, Equatable {
    /// A fixed word, such as `not-joined`.
    public let reason: String
    /// A sentence for the operator.
    public let detail: String

    public init(_ reason: String, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }
}

/// Runs on the admin thread and must not block. An empty result means that all is well.
public typealias Probe = @Sendable () -> [ProbeReason]

extension AdminResponse {
    /// 200, or 503 with the reasons: `{"status":"unavailable","reasons":[{"reason":"…","detail":"…"}]}`.
    static func probe(_ reasons: [ProbeReason]) -> Self {
        var text = Array(#"{"status":"\#(reasons.isEmpty ? "ok" : "unavailable")","reasons":["#.utf8)
        for (index, reason) in reasons.enumerated() {
            text += (index == 0 ? #"{"reason":"# : #",{"reason":"#).utf8
            text.append(quoted: reason.reason)
            text += #","detail":"#.utf8
            text.append(quoted: reason.detail)
            text += "}".utf8
        }
        text += "]}\n".utf8
        return .json(status: reasons.isEmpty ? 200 : 503, text)
    }
}

/// Sends one request to another process's admin endpoint, as a container's health check does. Blocks.
package struct ProbeRequest {
    private let address: ListenAddress
    /// How long an answer may take, in seconds.
    private let patience: Int
    /// Bytes of an answer. Another program at the address may send an endless one.
    private static let limit = 16 << 20

    /// An address that stands for all addresses of a machine is replaced by loopback.
    package init(_ address: ListenAddress, patience: Int = 2) {
        switch address.host {
        case "0.0.0.0": self.address = ListenAddress(host: "127.0.0.1", port: address.port)
        case "::": self.address = ListenAddress(host: "::1", port: address.port)
        default: self.address = address
        }
        self.patience = patience
    }

    package func get(_ path: String) throws(TelemetryError) -> (status: Int, body: String) {
        let answer = try ask(path)
        let words = answer.prefix { $0 != "\r\n" }.split(separator: " ")
        guard words.count > 1, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            throw .noAnswer("\(address)", EPROTO)
        }
        let body = answer.firstMatch(of: /\r\n\r\n(.*)$/.dotMatchesNewlines()).map { String($0.output.1) }
        return (status, body ?? "")
    }

    /// The whole answer, status line and headers included.
    package func ask(_ path: String, headers: [(name: String, value: String)] = []) throws(TelemetryError) -> String {
        let end = ContinuousClock.now + .seconds(patience)
        let descriptor = socket(
            address.isIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw failure(errno) }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: patience, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard address.withSocketAddress({ connect(descriptor, $0, $1) }) == 0 else { throw failure(errno) }
        let lines = ["GET \(path) HTTP/1.1", "Host: \(address)", "Connection: close"]
        let more = headers.map { "\($0.name): \($0.value)" }
        let request = (lines + more + ["", ""]).joined(separator: "\r\n")
        guard send(descriptor, request, request.utf8.count, Int32(MSG_NOSIGNAL)) == request.utf8.count else {
            throw failure(errno)
        }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 14)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            // A process that was stopped and continued is interrupted, too.
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(errno) }
            if count == 0 { return String(decoding: answer, as: UTF8.self) }
            answer += buffer.prefix(count)
            // Ends an answer whose bytes keep trickling in, too.
            guard answer.count <= Self.limit, ContinuousClock.now < end else { throw failure(ETIMEDOUT) }
        }
    }

    /// When a timeout expires, the system calls fail with EAGAIN or EINPROGRESS.
    private func failure(_ code: Int32) -> TelemetryError {
        .noAnswer("\(address)", code == EAGAIN || code == EINPROGRESS ? ETIMEDOUT : code)
    }
}

extension ListenAddress {
    /// Calls `body` with the address as a `sockaddr`. Nil if the system does not know such an address.
    func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result? {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, "\(port)", &hints, &found) == 0, let found else { return nil }
        defer { freeaddrinfo(found) }
        return body(found.pointee.ai_addr, found.pointee.ai_addrlen)
    }
}
