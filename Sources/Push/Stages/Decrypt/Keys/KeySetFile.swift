/// The file of a key set, read again when it changes.
package enum KeySetFile {
    /// How long a replaced set still serves messages that were encrypted before the change.
    static let grace = Duration.seconds(300)

    static func open(_ path: String, _ resources: StageResources) throws -> ReloadableFile<KeyRing> {
        let log = resources.log
        let file = try ReloadableFile<KeyRing>(path: path) { path, before in
            let keys = try keys(path) { log(.warning, $0) }
            return KeyRing.of(keys, replacing: before, until: .now + grace)
        }
        resources.watcher.add(file)
        return file
    }

    /// Reads a set once. Throws what the file system says, or a `KeySetError`.
    package static func read(_ path: String, warn: (String) -> Void) throws -> KeyRing {
        KeyRing(try keys(path, warn))
    }

    private static func keys(_ path: String, _ warn: (String) -> Void) throws -> [DecryptionKey] {
        let file = try FileBytes(path: path)
        if file.isReadableByOthers { warn("\(path) holds keys and can be read by others than its owner") }
        let reader = try KeySetReader(file.bytes)
        for key in reader.passedOver { warn("\(path): \(key)") }
        return reader.keys
    }
}

extension KeyRing {
    /// Keeps the ring before as the former one, unless it has the same keys.
    static func of(
        _ keys: [DecryptionKey], replacing before: KeyRing?, until: ContinuousClock.Instant
    ) -> KeyRing {
        let ring = KeyRing(keys)
        guard let before else { return ring }
        if ring.hasSameKeys(as: before) { return before }
        // Only one generation is kept.
        return KeyRing(keys, former: Former(ring: KeyRing(before.keys), until: until))
    }
}
