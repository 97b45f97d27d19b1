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

/// Asked on the server's thread: it must not block. No reason is good.
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
