import Synchronization

/// Derives keys and caches some: a sender may reuse a salt, but need not.
final class DerivedKeys: Sendable {
    private let known: Mutex<Known>

    init(capacity: Int = 1024) { known = Mutex(Known(capacity: capacity)) }

    func known(_ derivation: Derivation) -> SecretBytes? { known.withLock { $0[derivation.identity] } }

    /// Computes the key on one of the threads. Throws if the task is canceled before a thread is free.
    func derive(_ derivation: Derivation, on threads: any TaskExecutor) async throws -> SecretBytes {
        try Task.checkCancellation()
        let task = Task(executorPreference: threads) {
            try Task.checkCancellation()
            return try self.compute(derivation)
        }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Runs on the caller's thread.
    func compute(_ derivation: Derivation) throws(DecryptFailure) -> SecretBytes {
        if let key = known(derivation) { return key }
        let key = try derivation.compute()
        known.withLock { $0.insert(key, for: derivation.identity) }
        return key
    }

    /// The latest `capacity` keys.
    private struct Known {
        let capacity: Int
        var keys: [Derivation.Identity: SecretBytes] = [:]
        /// Oldest first.
        var order: [Derivation.Identity] = []

        subscript(identity: Derivation.Identity) -> SecretBytes? { keys[identity] }

        mutating func insert(_ key: SecretBytes, for identity: Derivation.Identity) {
            guard keys.updateValue(key, forKey: identity) == nil else { return }
            order.append(identity)
            if order.count > capacity { keys[order.removeFirst()] = nil }
        }
    }
}

/// A key whose derivation takes long and must not run on a shard's thread.
package struct Derivation: Sendable {
    let passphrase: DecryptionKey
    /// The salt's bytes in memory order.
    let salt: UInt64
    let iterations: Int

    var identity: Identity { Identity(passphrase: passphrase.serial, salt: salt) }

    package struct Identity: Hashable, Sendable {
        let passphrase: UInt64
        let salt: UInt64
    }

    /// Returns key and initial value.
    func compute() throws(DecryptFailure) -> SecretBytes {
        try SecretBytes(count: PassphraseDerivation.count) { (output) throws(DecryptFailure) in
            guard let start = output.baseAddress else { return }
            try PassphraseDerivation.iterated(iterations).derive(passphrase.secret, salt: salt, into: start)
        }
    }
}
