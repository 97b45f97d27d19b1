import Glibc
import PushmillCiphers
import PushmillPayload

/// What the commands that try keys and ciphertexts have in common.
extension Option {
    static let keySet = value("keys", "FILE", "the key set, a JWK Set; rot13 alone needs none")
    static let keyName = value("kid", "NAME", "the name of the key; the first that fits unless given")
    static let digest = value("digest", "NAME", "openssl: md5 or sha256, which it is unless given")
    static let iterations = value("iterations", "N", "openssl: PBKDF2 with so many iterations")
}

extension Invocation {
    /// The keys that `--keys` names; none for a cipher without.
    func keyRing(isKeyless: Bool) throws(ProgramError) -> KeyRing {
        guard !isKeyless else { return .empty }
        let path = try required(.keySet)
        do {
            return try KeySetFile.read(path) { console.error("warning: \($0)") }
        } catch let error as KeySetError {
            throw .unreadableConfiguration("\(path): \(error)")
        } catch {
            throw .unreadableConfiguration("\(error); 'pushmill keys generate' makes a key set")
        }
    }

    /// How `openssl` makes a key of a passphrase.
    func derivation() throws(ProgramError) -> PassphraseDerivation {
        let digest = try value(.digest, .choice(PassphraseDerivation.Digest.self)) ?? .sha256
        let iterations = try value(.iterations, .integer(PassphraseDerivation.iterationLimits))
        guard let derivation = PassphraseDerivation(digest, iterations: iterations) else {
            throw .usage("\(Option.iterations.label): PBKDF2 goes with sha256 only")
        }
        return derivation
    }

    /// Refuses options that mean nothing for what was asked.
    func refuse(_ options: [Option], unless isMeant: Bool, _ who: String) throws(ProgramError) {
        guard !isMeant, let option = options.first(where: flag) else { return }
        throw .usage("\(option.label) goes with \(who) only")
    }

    /// All of the input, of which the service takes so much from a message.
    func input() throws(ProgramError) -> [UInt8] { try console.wholeInput(limit: 1 << 20) }
}

/// A file that only its owner may read, and the group that it was lent to, replaced as a whole: a process that reads it meanwhile sees the
/// old one or the new one.
struct SecretFile {
    /// Where the file really is, also when a link leads there.
    private let path: String

    init(path: String) {
        let real = realpath(path, nil)
        defer { free(real) }
        self.path = real.map { String(cString: $0) } ?? path
    }

    /// Who reads the file to write it again holds its folder meanwhile: of two that do so at once, one would lose what
    /// the other has added.
    func alone<Result>(
        patience: Duration = .seconds(10), _ body: () throws(ProgramError) -> Result
    ) throws(ProgramError) -> Result {
        let folder = heldFolder(of: path, patience: patience)
        defer { if folder >= 0 { close(folder) } }
        return try body()
    }

    func write(_ bytes: [UInt8]) throws(ProgramError) {
        // Made for its owner's eyes only (0600).
        var template = Array("\(path).XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw failure("made") }
        let isWritten = bytes.withUnsafeBytes { writeAll($0, to: descriptor) } && fsync(descriptor) == 0
        guard isWritten, keepOwner(descriptor), rename(template, path) == 0 else {
            let failure = failure("written")
            close(descriptor)
            unlink(template)
            throw failure
        }
        close(descriptor)
    }

    /// The service may run as somebody else than who adds a key for it, and read it by its group.
    private func keepOwner(_ descriptor: Int32) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return true }
        let isLent = status.st_mode & S_IRGRP != 0 && status.st_mode & S_IROTH == 0
        guard isLent || status.st_uid != geteuid() else { return true }
        return fchown(descriptor, status.st_uid, status.st_gid) == 0 && (!isLent || fchmod(descriptor, 0o640) == 0)
    }

    private func failure(_ what: String) -> ProgramError {
        .internalFailure("\(path) cannot be \(what): \(String(cString: strerror(errno)))")
    }
}
