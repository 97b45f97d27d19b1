import Synchronization

/// Lends a scratch to whoever decrypts, without a lock: as many as decrypt at once come to be, and some are kept.
final class ScratchPool: Sendable {
    private let kept = InlineArray<32, Atomic<Unmanaged<Lent>?>> { _ in Atomic(nil) }

    /// A scratch on its way from one thread to the next. Unchecked: whoever has taken it has it alone.
    private final class Lent: @unchecked Sendable {
        let scratch: DecryptScratch

        init() throws(DecryptFailure) { scratch = try DecryptScratch() }
    }

    deinit {
        for index in kept.indices { kept[index].exchange(nil, ordering: .acquiring)?.release() }
    }

    /// Lends a scratch and clears it afterwards.
    func with<R>(_ body: (DecryptScratch) throws(DecryptFailure) -> R) throws(DecryptFailure) -> R {
        let lent = try take()
        defer {
            lent.takeUnretainedValue().scratch.clear()
            give(back: lent)
        }
        return try body(lent.takeUnretainedValue().scratch)
    }

    private func take() throws(DecryptFailure) -> Unmanaged<Lent> {
        for index in kept.indices {
            if let lent = kept[index].exchange(nil, ordering: .acquiring) { return lent }
        }
        return Unmanaged.passRetained(try Lent())
    }

    private func give(back lent: Unmanaged<Lent>) {
        for index in kept.indices {
            let (isKept, _) = kept[index].compareExchange(expected: nil, desired: lent, ordering: .releasing)
            if isKept { return }
        }
        lent.release()
    }
}
