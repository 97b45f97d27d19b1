import Dispatch
import Glibc
import Synchronization

/// A test's own folder, removed with its contents when the value is released.
package final class TemporaryFolder: Sendable {
    package let path: String

    /// With `inMemory`, in memory if the system has such a folder: thousands of commits there take no time.
    package init(inMemory: Bool = false) throws {
        let parent = inMemory && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
        var template = Array("\(parent)/pushmill-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemFailure(errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { Self.clear(path) }

    private static func clear(_ folder: String) {
        for name in names(in: folder) {
            let path = "\(folder)/\(name)"
            // A folder that is not empty cannot be removed.
            if remove(path) != 0 { clear(path) }
        }
        rmdir(folder)
    }

    /// The names of all entries, sorted.
    package var names: [String] { Self.names(in: path) }

    private static func names(in path: String) -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Returns the path of the file.
    @discardableResult
    package func write(_ text: String, to name: String, mode: UInt32 = 0o600) throws -> String {
        try write(Array(text.utf8), to: name, mode: mode)
    }

    /// Writes and then renames, as editors and orchestrators do: the file is never half written. Returns its path.
    @discardableResult
    package func write(_ bytes: [UInt8], to name: String, mode: UInt32 = 0o600) throws -> String {
        let file = "\(path)/\(name)"
        guard let stream = fopen(file + "~", "w") else { throw SystemFailure(errno) }
        fwrite(bytes, 1, bytes.count, stream)
        guard fclose(stream) == 0, chmod(file + "~", mode) == 0, rename(file + "~", file) == 0 else {
            throw SystemFailure(errno)
        }
        return file
    }

    package func makeFolder(_ name: String) throws {
        guard mkdir("\(path)/\(name)", 0o700) == 0 else { throw SystemFailure(errno) }
    }

    /// Waits until `isRight` accepts the names of the entries; inotify reports every change.
    package func wait(_ isRight: @escaping @Sendable ([String]) -> Bool) async throws {
        try await withCheckedThrowingContinuation { continuation in
            // Tests share few threads, so a blocking wait gets its own.
            DispatchQueue(label: "pushmill.test.folder").async {
                continuation.resume(with: Result { try self.watch(until: isRight) })
            }
        }
    }

    private func watch(until isRight: ([String]) -> Bool) throws {
        let watch = inotify_init1(Int32(IN_CLOEXEC))
        defer { close(watch) }
        guard inotify_add_watch(watch, path, UInt32(IN_CREATE | IN_MOVED_TO | IN_DELETE)) >= 0 else {
            throw SystemFailure(errno)
        }
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !isRight(names) {
            var descriptor = pollfd(fd: watch, events: Int16(POLLIN), revents: 0)
            guard poll(&descriptor, 1, 60_000) == 1 else { throw SystemFailure(ETIMEDOUT) }
            _ = read(watch, &buffer, buffer.count)
        }
    }

    /// Sets the times of the last access and the last change.
    package func setTime(of name: String, _ seconds: Int, nanoseconds: Int = 0) throws {
        let time = timespec(tv_sec: seconds, tv_nsec: nanoseconds)
        guard utimensat(AT_FDCWD, "\(path)/\(name)", [time, time], 0) == 0 else { throw SystemFailure(errno) }
    }

    package func delete(_ name: String) { unlink("\(path)/\(name)") }

    /// The permission bits of a file, or of the folder itself if the name is empty.
    package func mode(of name: String) throws -> UInt32 {
        var status = stat()
        guard stat("\(path)/\(name)", &status) == 0 else { throw SystemFailure(errno) }
        return status.st_mode & 0o777
    }
}

private let mask = Mutex(())

/// Runs the body with a umask of 0. One body at a time: the umask belongs to the whole process.
package func withoutFileMask<Result>(_ body: () throws -> Result) rethrows -> Result {
    try mask.withLock { _ in
        let before = umask(0)
        defer { umask(before) }
        return try body()
    }
}

package struct SystemFailure: Error {
    package let code: Int32

    package init(_ code: Int32) { self.code = code }
}
