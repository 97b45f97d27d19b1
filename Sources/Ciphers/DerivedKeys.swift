import Dispatch
import PushmillPayload
import Synchronization

/// Derives keys on its own threads and caches some: a sender may reuse a salt, but need not.
final class DerivedKeys: Sendable {
    private let known: Mutex<Known>
    private let queues: [DispatchQueue]
    private let next = Atomic<Int>(0)

    /// Half the cores, so messages that need no such key are not held up.
    static func threads(cores: Int) -> Int { max(1, cores / 2) }

    init(capacity: Int = 1024, threads: Int = DerivedKeys.threads(cores: Processors.usable)) {
        known = Mutex(Known(capacity: capacity))
        queues = (0..<threads).map { DispatchQueue(label: "pushmill.derivation.\($0)", qos: .utility) }
    }

    var threads: Int { queues.count }

    func known(_ derivation: Derivation) -> SecretBytes? { known.withLock { $0[derivation.identity] } }

    /// Computes the key on one of the queues. Throws if the task is canceled before its turn.
    func derive(_ derivation: Derivation) async throws -> SecretBytes {
        let isCancelled = Flag()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let turn = next.wrappingAdd(1, ordering: .relaxed).oldValue & Int.max
                queues[turn % queues.count].async {
                    guard !isCancelled.value.load(ordering: .relaxed) else {
                        return continuation.resume(throwing: CancellationError())
                    }
                    continuation.resume(with: Result { try self.compute(derivation) })
                }
            }
        } onCancel: {
            isCancelled.value.store(true, ordering: .relaxed)
        }
    }

    /// Runs on the caller's thread.
    func compute(_ derivation: Derivation) throws(DecryptFailure) -> SecretBytes {
        if let key = known(derivation) { return key }
        let key = try derivation.compute()
        known.withLock { $0.insert(key, for: derivation.identity) }
        return key
    }

    private final class Flag: Sendable {
        let value = Atomic<Bool>(false)
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
            try PassphraseDerivation.iterate(iterations, passphrase.secret, salt, into: start)
        }
    }
}
