import Synchronization

/// Lends a scratch to the thread that decrypts, without a lock: as many as decrypt at once come to be, and some are kept.
///
/// Unchecked because pointers are not sendable: the thread that has taken one out has what it points to for itself until
/// it gives it back, cleared. It does that whatever the ciphertext is, and also when it is refused.
final class ScratchPool: @unchecked Sendable {
    private let kept = InlineArray<32, Atomic<UnsafeMutablePointer<DecryptScratch>?>> { _ in Atomic(nil) }

    deinit {
        for index in kept.indices {
            if let scratch = kept[index].exchange(nil, ordering: .acquiring) { Self.free(scratch) }
        }
    }

    /// Lends a scratch and clears it afterwards.
    func with<R>(_ body: (inout DecryptScratch) throws(DecryptFailure) -> R) throws(DecryptFailure) -> R {
        let scratch = try take()
        defer {
            scratch.pointee.clear()
            give(back: scratch)
        }
        return try body(&scratch.pointee)
    }

    private func take() throws(DecryptFailure) -> UnsafeMutablePointer<DecryptScratch> {
        for index in kept.indices {
            if let scratch = kept[index].exchange(nil, ordering: .acquiring) { return scratch }
        }
        let new = try DecryptScratch()
        let scratch = UnsafeMutablePointer<DecryptScratch>.allocate(capacity: 1)
        scratch.initialize(to: new)
        return scratch
    }

    private func give(back scratch: UnsafeMutablePointer<DecryptScratch>) {
        for index in kept.indices {
            let (isKept, _) = kept[index].compareExchange(expected: nil, desired: scratch, ordering: .releasing)
            if isKept { return }
        }
        Self.free(scratch)
    }

    private static func free(_ scratch: UnsafeMutablePointer<DecryptScratch>) {
        scratch.deinitialize(count: 1)
        scratch.deallocate()
    }
}
