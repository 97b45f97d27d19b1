/// The file of a key set, read again when it changes.
enum KeySetFile {
    /// How long a replaced set still serves messages that were encrypted before the change.
    static let grace = Duration.seconds(300)

    static func open(_ path: String, _ resources: StageResources) throws -> ReloadableFile<KeyRing> {
        let log = resources.log
        let file = try ReloadableFile<KeyRing>(path: path) { path, before in
            let file = try FileBytes(path: path)
            if file.isReadableByOthers {
                log(.warning, "\(path) holds keys and can be read by others than its owner")
            }
            let reader = try KeySetReader(file.bytes)
            for key in reader.passedOver { log(.warning, "\(path): \(key)") }
            return KeyRing.of(reader.keys, replacing: before, until: .now + grace)
        }
        resources.watcher.add(file)
        return file
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
