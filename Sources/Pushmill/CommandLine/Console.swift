import FoundationEssentials
import Glibc
import PushmillPayload
import Synchronization

/// The text output of a command: results go to `output`, everything else to `error`. Adds a line end if it is missing.
struct Console: Sendable {
    let output: @Sendable (String) -> Void
    let error: @Sendable (String) -> Void
    /// Returns the next bytes of the input; empty at its end.
    let input: @Sendable () throws(ProgramError) -> [UInt8]
    /// Shows a command's progress, each time in place of the previous text; nil without a terminal.
    var status: (@Sendable (String) -> Void)?
    /// True if `output` is a terminal.
    var isTerminal = false

    static let standard = Console(
        output: { write(ended($0), to: STDOUT_FILENO) },
        error: { write(ended($0.visible(keepsLines: true)), to: STDERR_FILENO) },
        input: { () throws(ProgramError) in try read(STDIN_FILENO) },
        status: isatty(STDERR_FILENO) == 1 ? lastLine : nil,
        isTerminal: isatty(STDOUT_FILENO) == 1)

    private static let lastLine: @Sendable (String) -> Void = { text in
        write(Array("\r\(text)\u{1B}[K".utf8), to: STDERR_FILENO)
    }

    private static func read(_ descriptor: Int32) throws(ProgramError) -> [UInt8] {
        var count = 0
        let chunk = [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, filled in
            repeat {
                count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            } while count < 0 && mayGoOn(descriptor, POLLIN)
            filled = max(0, count)
        }
        guard count >= 0 else { throw .badData("cannot read standard input: \(String(cString: strerror(errno)))") }
        return chunk
    }

    /// All of the input; throws if it is more than `limit` bytes.
    func wholeInput(limit: Int) throws(ProgramError) -> [UInt8] {
        var bytes: [UInt8] = []
        while case let chunk = try input(), !chunk.isEmpty {
            bytes += chunk
            guard bytes.count <= limit else { throw .badData("too-large: the input is over \(limit >> 20) MiB") }
        }
        return bytes
    }

    /// With one line end. Compares bytes, because a line end may be part of a character (`\r\n`).
    static func ended(_ line: String) -> [UInt8] {
        let bytes = Array(line.utf8)
        return bytes.last == UInt8(ascii: "\n") ? bytes : bytes + [UInt8(ascii: "\n")]
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) {
        // After lost output, nothing that follows would be right.
        if descriptor == STDOUT_FILENO, hasFailed { return }
        let isWritten = bytes.withUnsafeBytes { writeAll($0, to: descriptor) }
        guard !isWritten, descriptor == STDOUT_FILENO else { return }
        let number = errno
        // The reader has gone: nothing is left to do, and nobody to tell. Our threads block signals, so the process
        // sends itself one. As the first of a container (PID 1), it does not receive a signal that it does not handle.
        if number == EPIPE { kill(getpid(), SIGTERM) }
        if number != EPIPE || getpid() == 1 { failure.store(number, ordering: .relaxed) }
    }

    /// The `errno` of the failed write to the output; 0 if none has failed.
    private static let failure = Atomic<Int32>(0)

    /// True if output was lost, so it is not worth going on.
    static var hasFailed: Bool { failure.load(ordering: .relaxed) != 0 }

    /// The exit code of the process: an incomplete result is not a success.
    static func end(_ code: ExitCode) -> ExitCode {
        let number = failure.load(ordering: .relaxed)
        guard number != 0, code == .success else { return code }
        let error = ProgramError.internalFailure("cannot write the output: \(String(cString: strerror(number)))")
        write(ended("\(error)"), to: STDERR_FILENO)
        return error.exitCode
    }
}

/// A folder that only its owner can access, removed with all its contents when this object is released.
package final class ScratchFolder: Sendable {
    package let path: String

    /// `files` has contents by path in the folder.
    package init(_ name: String, files: [String: [UInt8]] = [:]) throws {
        path = FileManager.default.temporaryDirectory.appending(path: "\(name)-\(UUID().uuidString)").path
        guard mkdir(path, 0o700) == 0 else { throw FileFailure(path: path, errno) }
        for (name, bytes) in files {
            let file = URL(filePath: "\(path)/\(name)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(bytes).write(to: file)
            // Keys that others can read would cause a warning.
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
