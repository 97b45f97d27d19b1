import Glibc
import Synchronization
import PushmillTelemetry
import PushmillTestSupport
import Testing

/// A service in a process of its own, and its output.
final class ServiceProcess: Sendable {
    enum End: Equatable, Sendable {
        case exited(Int32)
        case signalled(Int32)
    }

    struct Life: Sendable {
        /// Standard output and standard error, line by line.
        var lines: [Substring] = []
        var end: End?
    }

    let identifier: pid_t
    private let life = Watched(Life())
    /// Held open while the test process lives: the service ends when it closes.
    private let leash: Int32
    private let follower = Mutex<Thread?>(nil)

    /// The build puts its products beside the tests.
    static let folder: String = {
        var path = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &path, path.count)
        let text = String(decoding: path.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text.lastIndex(of: "/").map { String(text[..<$0]) } ?? "."
    }()

    init(_ arguments: [String], executable: String = "PushmillEndToEndService", environment: [String] = []) throws {
        let (output, input) = (try Self.pipe(), try Self.pipe())
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input.reading, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output.writing, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output.writing, STDERR_FILENO)
        // The tests' threads block signals, and a child inherits the mask of the thread that starts it.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let path = executable.hasPrefix("/") ? executable : "\(Self.folder)/\(executable)"
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var variables = environment.map { strdup($0) }
        defer { for variable in variables.prefix(environment.count) { free(variable) } }
        var inherited = environ
        repeat {
            variables.append(inherited.pointee)
            inherited += 1
        } while variables.last != .some(nil)
        var identifier: pid_t = 0
        let code = posix_spawn(&identifier, path, &actions, &attributes, &words, &variables)
        close(input.reading)
        close(output.writing)
        leash = input.writing
        self.identifier = identifier
        guard code == 0 else { throw SystemFailure(code) }
        let following = try Thread(named: "test") { [identifier, life] in Self.follow(output.reading, identifier, life)
        }
        follower.withLock { $0 = following }
    }

    /// No child inherits either end itself, only a duplicate.
    private static func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw SystemFailure(errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func follow(_ source: Int32, _ identifier: pid_t, _ life: Watched<Life>) {
        var rest: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(source, &buffer, buffer.count)
            guard count > 0 else { break }
            rest += buffer.prefix(count)
            guard let last = rest.lastIndex(of: UInt8(ascii: "\n")) else { continue }
            let lines = String(decoding: rest[..<last], as: UTF8.self).split(separator: "\n")
            rest.removeSubrange(...last)
            life.change { $0.lines += lines }
        }
        close(source)
        var status: Int32 = 0
        while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7f
        life.change { $0.end = signal == 0 ? .exited(status >> 8 & 0xff) : .signalled(signal) }
    }

    func send(_ signal: Int32) { kill(identifier, signal) }

    func expectEnd(
        _ end: End, within limit: Duration = .seconds(60), at location: SourceLocation = #_sourceLocation
    ) async throws {
        try await waitForEnd(within: limit)
        #expect(life.value.end == end, sourceLocation: location)
    }

    func waitForEnd(within limit: Duration = .seconds(60)) async throws {
        try await life.wait(for: "the end of service \(identifier)", within: limit) { $0.end != nil }
    }

    /// Kills it if it still runs.
    func clear() async throws {
        if life.value.end == nil { send(SIGKILL) }
        try await waitForEnd()
        follower.withLock { $0.take() }?.join()
        close(leash)
    }

    /// nil while it runs.
    var end: End? { life.value.end }

    var lines: [Substring] { life.value.lines }

    func lines(with text: String) -> [Substring] { lines.filter { $0.contains(text) } }

    /// Waits until a line with that text has been said `count` times.
    func wait(forLine text: String, count: Int = 1, within limit: Duration = .seconds(60)) async throws {
        try await life.wait(for: "the line '\(text)' of service \(identifier)", within: limit) { life in
            life.end != nil || life.lines.count { $0.contains(text) } >= count
        }
        guard lines(with: text).count >= count else { throw Ended(identifier: identifier, awaited: text) }
    }

    /// Waits until that many partitions are read in all, in any number of log lines.
    func wait(forPartitionsRead count: Int) async throws {
        try await life.wait(for: "\(count) partitions that service \(identifier) reads", within: .seconds(60)) { life in
            life.end != nil
                || life.lines.lazy.compactMap { $0.firstMatch(of: /"serving partitions","count":(\d+)/) }
                    .reduce(0) { $0 + (Int($1.1) ?? 0) } >= count
        }
        guard end == nil else { throw Ended(identifier: identifier, awaited: "serving partitions") }
    }

    struct Ended: Error {
        let identifier: pid_t
        let awaited: String
    }

    /// The peak of resident memory, in bytes.
    var peakMemory: Int? {
        guard let file = fopen("/proc/\(identifier)/status", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard text.hasPrefix("VmHWM:") else { continue }
            return Int(text.filter { $0.isASCII && $0.isNumber }).map { $0 << 10 }
        }
        return nil
    }
}
