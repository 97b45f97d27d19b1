/// The counts that one transaction changes: records for the changelog before its commit, rows of the store after it.
package struct CountChanges: Sendable {
    let counts: [(account: BadgeAccount, state: BadgeAccount.State)]

    package var isEmpty: Bool { counts.isEmpty }

    /// What is to be published to the changelog, in the same transaction as the offsets: each to this very partition. No
    /// value is a tombstone. The bytes are good within the call.
    package func forEachRecord<E: Error>(
        _ body: (_ partition: Int32, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) throws(E) -> Void
    ) throws(E) {
        var key: [UInt8] = []
        var value: [UInt8] = []
        for (account, state) in counts {
            guard let partition = account.lease.partition else { continue }
            key.removeAll(keepingCapacity: true)
            value.removeAll(keepingCapacity: true)
            account.key.withParts { recipient, app in ChangelogRecord.appendKey(recipient, app, to: &key) }
            let hasValue = ChangelogRecord.appendValue(state.count, to: &value)
            let (key, value) = (key.span.bytes, value.span.bytes)
            try key.withUnsafeBytes { (key) throws(E) in
                try value.withUnsafeBytes { (value) throws(E) in try body(partition, key, hasValue ? value : nil) }
            }
        }
    }
}

extension CheckpointBatch {
    package var changes: CountChanges { CountChanges(counts: counts.counts) }
}
