import Glibc

/// A media server in its own process; `Tests/interop/media_server.py` defines what its paths do.
package final class MediaServer: Sendable {
    package let port: Int
    private let process: pid_t
    /// The log, already unlinked: the server that all tests share lives until their process ends.
    private let log: Int32
    nonisolated(unsafe) private let output: UnsafeMutablePointer<FILE>

    /// A server for all tests, each of which uses its own paths.
    package static let shared = try? MediaServer()

    /// `certificate`: a PEM file that also holds the key, for TLS.
    package convenience init(certificate: String? = nil) throws {
        let options = certificate.map { " --certificate '\($0)'" } ?? ""
        try self.init("python3 '\(Self.scripts)/media_server.py'\(options)")
    }

    /// Speaks HTTP/2. On each connection it answers the first request at once, the others only when `count` of them are
    /// open: see `Tests/interop/h2_server.py`.
    package convenience init(certificate: String, together count: Int) throws {
        try self.init(
            "'\(Self.python)' '\(Self.scripts)/h2_server.py' --certificate '\(certificate)' --together \(count)")
    }

    /// True if Python has `h2`, which the HTTP/2 server needs and `deploy/test` installs.
    package static var speaksHTTP2: Bool { system("'\(python)' -c 'import h2' 2>/dev/null") == 0 }

    private init(_ program: String) throws {
        let folder = try TemporaryFolder()
        let command = "exec \(program) --log '\(folder.path)/log'"
        guard let output = popen(command, "r") else { throw SystemFailure(errno) }
        self.output = output
        var line = [CChar](repeating: 0, count: 64)
        fgets(&line, Int32(line.count), output)
        let numbers = String(decoding: line.prefix { $0 > 32 || $0 == 32 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            .split(separator: " ").compactMap { Int($0) }
        guard numbers.count == 2 else {
            pclose(output)
            throw SystemFailure(ECHILD)
        }
        log = open("\(folder.path)/log", O_RDONLY | O_CLOEXEC)
        port = numbers[0]
        process = pid_t(numbers[1])
    }

    deinit {
        kill(process, SIGKILL)
        pclose(output)
        close(log)
    }

    private static let tests = "/" + #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
    private static let scripts = "\(tests)/interop"
    private static let python = "\(tests)/../.venv/bin/python3"

    package func url(_ path: String, host: String = "127.0.0.1", scheme: String = "http") -> String {
        "\(scheme)://\(host):\(port)\(path)"
    }

    /// One line per request: the target, and the headers that matter.
    package var requests: [Substring] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = pread(log, &buffer, buffer.count, bytes.count), count > 0 {
            bytes += buffer.prefix(count)
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }

    package func requests(for target: String) -> [Substring] {
        requests.filter { $0 == target || $0.hasPrefix("\(target) ") }
    }
}
