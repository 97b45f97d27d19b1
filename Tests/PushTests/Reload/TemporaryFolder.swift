import Glibc

/// A folder of a test's own, removed with the value.
final class TemporaryFolder {
    let path: String
    private var made: [String] = []

    init() throws {
        var template = Array("/tmp/pushmill-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw TemporaryFolderFailure.notMade(errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        for name in made.reversed() { remove("\(path)/\(name)") }
        rmdir(path)
    }

    /// Writes as editors and orchestrators do, by renaming: the file is never half there. Gives its path.
    @discardableResult
    func write(_ name: String, _ text: String, mode: mode_t = 0o600) throws -> String {
        let file = "\(path)/\(name)"
        guard let stream = fopen(file + "~", "w") else { throw TemporaryFolderFailure.notMade(errno) }
        _ = text.utf8.withContiguousStorageIfAvailable { fwrite($0.baseAddress, 1, $0.count, stream) }
        guard fclose(stream) == 0, chmod(file + "~", mode) == 0, rename(file + "~", file) == 0 else {
            throw TemporaryFolderFailure.notMade(errno)
        }
        made.append(name)
        return file
    }

    func makeFolder(_ name: String) throws {
        guard mkdir("\(path)/\(name)", 0o700) == 0 else { throw TemporaryFolderFailure.notMade(errno) }
        made.append(name)
    }

    func delete(_ name: String) { unlink("\(path)/\(name)") }
}

enum TemporaryFolderFailure: Error { case notMade(Int32) }
