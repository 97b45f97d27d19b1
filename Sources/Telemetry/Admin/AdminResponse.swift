/// What a handler answers.
package struct AdminResponse {
    package enum Body {
        case bytes(SharedBytes)
        case stream(any AdminStream)
    }

    package var status: Int
    package var headers: [(name: String, value: String)]
    package var body: Body

    package init(status: Int = 200, contentType: String, body: Body, headers: [(name: String, value: String)] = []) {
        self.status = status
        self.headers = [("Content-Type", contentType)] + headers
        self.body = body
    }

    package static func json(status: Int = 200, _ text: [UInt8]) -> Self {
        Self(status: status, contentType: "application/json", body: .bytes(SharedBytes(text)))
    }

    package static func text(
        status: Int = 200, _ text: String, headers: [(name: String, value: String)] = []
    ) -> Self {
        Self(
            status: status, contentType: "text/plain; charset=utf-8", body: .bytes(SharedBytes(text.utf8)),
            headers: headers)
    }
}

/// A body that comes piece by piece, for as long as the client stays. Used on the server's thread only.
package protocol AdminStream: AnyObject {
    /// Fills the buffer as far as it can. `isQuiet` asks for a sign of life if there is nothing else.
    func read(into buffer: UnsafeMutableRawBufferPointer, isQuiet: Bool) -> AdminStreamStep
    /// Something may have come since it had to wait.
    var hasNews: Bool { get }
}

package enum AdminStreamStep: Equatable {
    /// So many bytes, at least one.
    case wrote(Int)
    /// Nothing yet: ask again later.
    case waiting
    case end
}

/// Bytes that any number of responses send without a copy of their own.
package final class SharedBytes: Sendable {
    // Written once, before it is shared.
    nonisolated(unsafe) let memory: UnsafeMutableRawBufferPointer

    package init(_ bytes: some Collection<UInt8>) {
        memory = .allocate(byteCount: bytes.count, alignment: 1)
        memory.copyBytes(from: bytes)
    }

    deinit { memory.deallocate() }
}
