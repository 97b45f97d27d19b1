import Glibc

/// A child process that runs seeds, and its output.
final class WorkerProcess {
    private(set) var descriptor: Int32 = -1
    private(set) var running: UInt64?
    private(set) var since = 0.0
    private(set) var hasEnded = false
    private(set) var how = ""
    private var identifier: pid_t = 0
    private var next: UInt64
    private let stride: UInt64
    private let options: [String]
    private var rest: [UInt8] = []

    init(seed: UInt64, stride: UInt64, _ options: [String]) {
        next = seed
        self.stride = stride
        self.options = options
    }

    /// Continues after the seed that was begun last. A process does at most 2000 runs: what it leaks ends with it.
    func start(seconds: Int) {
        var words = ["/proc/self/exe", "--worker", "--seed", "\(next)", "--stride", "\(stride)", "--runs", "2000"]
        words += ["--seconds", "\(seconds)"]
        words += options
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { fail("pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        var pointers = words.map { strdup($0) } + [nil]
        let result = posix_spawn(&identifier, "/proc/self/exe", &actions, nil, &pointers, environ)
        for pointer in pointers { free(pointer) }
        posix_spawn_file_actions_destroy(&actions)
        close(ends[1])
        guard result == 0 else { fail("posix_spawn") }
        descriptor = ends[0]
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        hasEnded = false
        running = nil
        rest = []
    }

    private func fail(_ what: String) -> Never {
        perror(what)
        exit(70)
    }

    func began(_ seed: UInt64) {
        running = seed
        since = monotonicSeconds()
        next = seed &+ stride
    }

    func finished(_ seed: UInt64) { running = nil }

    func takeLines() -> [String] {
        var lines: [String] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !hasEnded {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 { break }
            if count == 0 {
                reap()
                break
            }
            rest += buffer[..<count]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                lines.append(String(decoding: rest[..<end], as: UTF8.self))
                rest.removeSubrange(...end)
            }
        }
        return lines
    }

    private func reap() {
        var status: Int32 = 0
        waitpid(identifier, &status, 0)
        close(descriptor)
        descriptor = -1
        hasEnded = true
        how = status & 0x7f == 0 ? "exit status \(status >> 8 & 0xff)" : "signal \(status & 0x7f)"
    }

    func kill() {
        guard !hasEnded else { return }
        _ = Glibc.kill(identifier, SIGKILL)
        reap()
    }
}
