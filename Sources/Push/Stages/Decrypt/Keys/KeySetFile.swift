import Glibc

/// The file of a key set, read again when it changes.
package enum KeySetFile {
    /// How long a replaced set still serves messages that were encrypted before the change, unless it is set.
    static let grace = Duration.seconds(300)

    static func open(
        _ path: String, _ resources: StageResources, grace: Duration = KeySetFile.grace
    ) throws -> ReloadableFile<KeyRing> {
        let log = resources.log
        let file = try ReloadableFile<KeyRing>(path: path) { path, before in
            let reader = try set(path) { log(.warning, $0) }
            if resources.refusesSamples, let position = reader.keys.firstIndex(where: SampleKeys.contains) {
                throw KeySetError.sample("key \(reader.keys[position].name ?? "\(position + 1)")")
            }
            return KeyRing.of(
                reader.keys, replacing: before, until: grace > .zero ? .now + grace : nil, revoked: reader.revoked)
        }
        resources.watch(file)
        return file
    }

    /// Reads a set once. Throws what the file system says, or a `KeySetError`.
    package static func read(_ path: String, warn: (String) -> Void) throws -> KeyRing {
        KeyRing(try set(path, warn).keys)
    }

    /// The ids may be recipients': two keys of one use have one each, as after a rotation, too. False for a file that cannot
    /// be read, and for a pipe, which can be read but once.
    static func mayHaveOwners(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, let keys = try? set(path, { _ in }).keys
        else { return false }
        let uses = keys.filter { $0.name != nil }.map(\.use)
        return Set(uses).count < uses.count
    }

    private static func set(_ path: String, _ warn: (String) -> Void) throws -> KeySetReader {
        var file = try FileBytes(path: path)
        defer { file.wipe() }
        if file.isReadableByOthers { warn("\(path) holds keys and can be read by others than its owner") }
        let reader = try KeySetReader(file.bytes)
        for key in reader.passedOver { warn("\(path): \(key)") }
        return reader
    }
}

extension KeyRing {
    /// Keeps the ring before as the former one, unless it has the same keys; without those that are revoked.
    static func of(
        _ keys: [DecryptionKey], replacing before: KeyRing?, until: ContinuousClock.Instant?,
        revoked: [RevokedKey] = []
    ) -> KeyRing {
        let ring = KeyRing(keys)
        guard let before else { return ring }
        if ring.hasSameKeys(as: before) {
            guard let former = before.former, !revoked.isEmpty else { return before }
            return KeyRing(before.keys, former: Former(ring: former.ring.without(revoked), until: former.until))
        }
        guard let until else { return ring }
        // Only one generation is kept.
        return KeyRing(keys, former: Former(ring: KeyRing(before.keys).without(revoked), until: until))
    }

    private func without(_ revoked: [RevokedKey]) -> KeyRing {
        KeyRing(keys.filter { key in !revoked.contains { $0.covers(key) } })
    }
}
