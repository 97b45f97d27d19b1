import Glibc
import PushmillCiphers

/// What the commands that try keys and ciphertexts have in common.
extension Option {
    static let keySet = value("keys", "FILE", "the key set, a JWK Set; rot13 alone needs none")
    static let keyName = value("kid", "NAME", "the name of the key; the first that fits unless given")
    static let digest = value("digest", "NAME", "openssl: md5 or sha256, which it is unless given")
    static let iterations = value("iterations", "N", "openssl: PBKDF2 with so many iterations")
}

extension Invocation {
    /// What the service takes from a message.
    private static let inputLimit = 1 << 20

    /// The keys that `--keys` names; none for a cipher without.
    func keyRing(isKeyless: Bool) throws(ProgramError) -> KeyRing {
        guard !isKeyless else { return .empty }
        let path = try required(.keySet)
        do {
            return try KeySetFile.read(path) { surroundings.console.error("warning: \($0)") }
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

    /// All of the input.
    func input() throws(ProgramError) -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let chunk = try surroundings.console.input()
            guard !chunk.isEmpty else { return bytes }
            bytes += chunk
            guard bytes.count <= Self.inputLimit else { throw .badData("too-large: over 1 MiB of input") }
        }
    }
}

/// A file that only its owner may read, replaced as a whole: a process that reads it meanwhile sees the
/// old one or the new one.
struct SecretFile {
    /// Where the file really is, also when a link leads there.
    private let path: String

    init(path: String) {
        let real = realpath(path, nil)
        defer { free(real) }
        self.path = real.map { String(cString: $0) } ?? path
    }

    func write(_ bytes: [UInt8]) throws(ProgramError) {
        // Made for its owner's eyes only (0600).
        var template = Array("\(path).XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw failure("made") }
        let isWritten = fill(descriptor, bytes) && keepOwner(descriptor)
        guard isWritten, rename(template, path) == 0 else {
            let failure = failure("written")
            close(descriptor)
            unlink(template)
            throw failure
        }
        close(descriptor)
    }

    private func fill(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return fsync(descriptor) == 0
    }

    /// The service may run as somebody else than who adds a key for it.
    private func keepOwner(_ descriptor: Int32) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0, status.st_uid != geteuid() else { return true }
        return fchown(descriptor, status.st_uid, status.st_gid) == 0
    }

    private func failure(_ what: String) -> ProgramError {
        .internalFailure("\(path) cannot be \(what): \(String(cString: strerror(errno)))")
    }
}
