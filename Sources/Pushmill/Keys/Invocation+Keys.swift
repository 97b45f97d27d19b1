import PushmillStages

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
