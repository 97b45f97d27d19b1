import Glibc

/// Where a command's words go: results to `output`, everything else to `error`. A line end is added where there is none.
package struct Console: Sendable {
    package let output: @Sendable (String) -> Void
    package let error: @Sendable (String) -> Void

    package init(output: @escaping @Sendable (String) -> Void, error: @escaping @Sendable (String) -> Void) {
        self.output = output
        self.error = error
    }

    /// The process's own.
    static let standard = Console(
        output: { write($0, to: STDOUT_FILENO) },
        error: { write($0, to: STDERR_FILENO) })

    private static func write(_ line: String, to descriptor: Int32) {
        var rest = Array((line.hasSuffix("\n") ? line : "\(line)\n").utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            // Nobody reads any more: there is no one left to tell.
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
