/// The keys of examples, which everybody knows.
package enum SampleKeys {
    /// As `k` in a key set: the sample's four, the manifests' and the regression example's.
    private static let known = [
        "YSBzYW1wbGUga2V5LCBrbm93biB0byBldmVyeWJvZHk", "YW5vdGhlciBrZXkgdGhhdCBpcyBub3QgYSBzZWNyZXQ",
        "bmV2ZXIgdXNlIHRoZXNlIG91dHNpZGUgYSBzYW1wbGU", "Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZQ",
        "cmVwbGFjZSBtZTogbm90IGEgc2VjcmV0IGF0IGFsbCE", "b25seS1mb3ItdGhlLWV4YW1wbGU",
    ]

    private static let secrets = known.compactMap { try? BinaryText.bytes(ofBare: $0) }

    static func contains(_ key: DecryptionKey) -> Bool { secrets.contains { key.secret.bytes.elementsEqual($0) } }
}
