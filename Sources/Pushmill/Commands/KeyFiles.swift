import Glibc
import PushmillCiphers
import PushmillPayload

/// Shared by the commands that try keys and ciphertexts.
extension Option {
    static let keySet = value("keys", "FILE", "the key set, a JWK Set; not needed for rot13")
    static let keyName = value("kid", "NAME", "the name of the key; default: the first that fits")
    static let digest = value("digest", "NAME", "openssl: md5 or sha256; default: sha256")
    static let iterations = value("iterations", "N", "openssl: PBKDF2 with this many iterations")
}

extension Invocation {
    /// The keys in the `--keys` file; empty for a cipher without keys.
    func keyRing(isKeyless: Bool) throws(ProgramError) -> KeyRing {
        guard !isKeyless else { return .empty }
        let path = try required(.keySet)
        do {
            return try KeySetFile.read(path) { console.error("warning: \($0)") }
        } catch let error as KeySetError {
            throw .unreadableConfiguration("\(error)")
        } catch {
            throw .unreadableConfiguration("\(error); 'pushmill keys generate' creates a key set")
        }
    }

    /// How `openssl` derives a key from a passphrase.
    func derivation() throws(ProgramError) -> PassphraseDerivation {
        let digest = try value(.digest, .choice(PassphraseDerivation.Digest.self)) ?? .sha256
        let iterations = try value(.iterations, .integer(PassphraseDerivation.iterationLimits))
        guard let derivation = PassphraseDerivation(digest, iterations: iterations) else {
            throw .usage("\(Option.iterations.label): PBKDF2 requires sha256")
        }
        return derivation
    }

    /// Refuses options that have no meaning in this call.
    func refuse(_ options: [Option], unless isMeant: Bool, _ who: String) throws(ProgramError) {
        guard !isMeant, let option = options.first(where: flag) else { return }
        throw .usage("\(option.label) is allowed only with \(who)")
    }

    /// The whole standard input, at most 1 MiB.
    func input() throws(ProgramError) -> [UInt8] { try console.wholeInput(limit: 1 << 20) }
}

/// A file that only its owner, and the group it was lent to, may read. Replaced as a whole: a process that reads it
/// meanwhile sees the old contents or the new.
struct SecretFile {
    /// The real path, if a link leads to the file.
    private let path: String

    init(path: String) {
        let real = realpath(path, nil)
        defer { free(real) }
        self.path = real.map { String(cString: $0) } ?? path
    }

    /// Locks the file's folder while `body` reads and rewrites the file. Otherwise, one of two processes that do so at
    /// once would lose what the other has added.
    func alone<Result>(
        patience: Duration = .seconds(10), _ body: () throws(ProgramError) -> Result
    ) throws(ProgramError) -> Result {
        let folder = heldFolder(of: path, patience: patience)
        defer { if folder >= 0 { close(folder) } }
        return try body()
    }

    func write(_ bytes: [UInt8]) throws(ProgramError) {
        guard !isStrange else {
            throw ProgramError.usage("\(path): belongs to another user, in a folder where anybody can write: move it")
        }
        // `mkstemp` creates it for its owner only (0600).
        var template = Array("\(path).XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw failure("create") }
        let isWritten = bytes.withUnsafeBytes { writeAll($0, to: descriptor) } && fsync(descriptor) == 0
        guard isWritten, keepOwner(descriptor), rename(template, path) == 0 else {
            let failure = failure("write")
            close(descriptor)
            unlink(template)
            throw failure
        }
        close(descriptor)
    }

    /// Anybody may have prepared the file, to be given the keys.
    private var isStrange: Bool {
        var (file, folder) = (stat(), stat())
        let parent = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        guard stat(path, &file) == 0, file.st_uid != geteuid(), stat(parent, &folder) == 0 else { return false }
        return file.st_uid != folder.st_uid && folder.st_mode & S_IWOTH != 0
    }

    /// The service may run as another user than the one who adds a key, or read the file through its group.
    private func keepOwner(_ descriptor: Int32) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return true }
        let isLent = status.st_mode & S_IRGRP != 0 && status.st_mode & S_IROTH == 0
        guard isLent || status.st_uid != geteuid() else { return true }
        return fchown(descriptor, status.st_uid, status.st_gid) == 0 && (!isLent || fchmod(descriptor, 0o640) == 0)
    }

    private func failure(_ what: String) -> ProgramError {
        .internalFailure("cannot \(what) \(path): \(String(cString: strerror(errno)))")
    }
}
