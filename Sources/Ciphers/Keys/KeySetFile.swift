import Glibc
import PushmillPayload

package enum KeySetFile {
    /// The default time for which a replaced set still serves messages that were encrypted before the change.
    package static let grace = Duration.seconds(300)

    /// Reads the set to use, and keeps those before it for `grace`. May refuse the keys of examples. Throws the error
    /// of the file system or a `KeySetError`.
    package static func read(
        _ path: String, replacing before: KeyRing? = nil, grace: Duration = .zero, refusesSamples: Bool = false,
        warn: (String) -> Void
    ) throws -> KeyRing {
        let reader = try set(path, refusesSamples: refusesSamples, warn)
        return KeyRing.of(
            reader.keys, replacing: before, until: grace > .zero ? .now + grace : nil, revoked: reader.revoked)
    }

    /// True if key ids may be recipients': two named keys have one use (as after a rotation too). False if the file
    /// cannot be read, and for a pipe, which can be read only once.
    package static func mayHaveOwners(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, let keys = try? set(path, { _ in }).keys
        else { return false }
        let uses = keys.filter { $0.name != nil }.map(\.use)
        return Set(uses).count < uses.count
    }

    private static func set(
        _ path: String, refusesSamples: Bool = false, _ warn: (String) -> Void
    ) throws -> KeySetReader {
        var file = try FileBytes(path: path)
        defer { file.wipe() }
        if file.isReadableByOthers { warn("\(path) holds keys and is readable by users other than its owner") }
        let reader: KeySetReader
        do throws(KeySetError) {
            reader = try KeySetReader(file.bytes, refusesSamples: refusesSamples)
        } catch {
            throw KeySetError(description: "\(path): \(error)")
        }
        for key in reader.passedOver { warn("\(path): \(key)") }
        return reader
    }
}

extension KeyRing {
    /// A limit, because each former ring is a whole set and may be large.
    static let mostFormers = 4

    /// Keeps `before` among the former rings unless its keys are equal. Removes revoked keys from the former rings.
    static func of(
        _ keys: [DecryptionKey], replacing before: KeyRing?, until: ContinuousClock.Instant?,
        revoked: RevokedKeys = RevokedKeys()
    ) -> KeyRing {
        let ring = KeyRing(keys)
        guard let before else { return ring }
        let formers = before.currentFormers
        if ring.hasSameKeys(as: before) {
            guard !formers.isEmpty, !revoked.isEmpty else { return before }
            return KeyRing(before.keys, formers: formers.map { $0.without(revoked) })
        }
        guard let until else { return ring }
        let last = Former(ring: KeyRing(before.keys), until: until)
        return KeyRing(keys, formers: ([last] + formers).prefix(mostFormers).map { $0.without(revoked) })
    }

    private var currentFormers: [Former] { formers.filter { $0.until > .now } }

    /// The ring without formers whose time is over; nil if there are none. Their keys are wiped with them.
    package var withoutOutdated: KeyRing? {
        let current = currentFormers
        return current.count < formers.count ? KeyRing(keys, formers: current) : nil
    }
}

extension KeyRing.Former {
    fileprivate func without(_ revoked: RevokedKeys) -> Self {
        revoked.isEmpty ? self : Self(ring: KeyRing(ring.keys.filter { !revoked.contains($0) }), until: until)
    }
}

/// Reads a JWK Set (RFC 7517).
package struct KeySetReader {
    package private(set) var keys: [DecryptionKey] = []
    /// Keys that are valid but of no use here, or revoked, and why.
    package private(set) var passedOver: [String] = []
    /// Keys that must not open anything.
    private(set) var revoked = RevokedKeys()
    /// As bytes, because keys are looked up by the bytes of their names.
    private var names: [KeyUse: Set<[UInt8]>] = [:]
    private let refusesSamples: Bool

    package init(_ json: [UInt8], refusesSamples: Bool = false) throws(KeySetError) {
        self.refusesSamples = refusesSamples
        var document = JSONDocument()
        defer { document.wipe() }
        do throws(PayloadError) {
            try json.span.withUnsafeBytes { (json) throws(PayloadError) in try document.read(json) }
        } catch {
            throw .notAKeySet("\(error)")
        }
        guard let list = document.member("keys", of: document.root), document.kind(of: list) == .array else {
            throw .notAKeySet("`keys` is missing or not an array")
        }
        let nodes = document.children(of: list).enumerated()
        // A key may precede the entry that revokes it.
        for (index, node) in nodes {
            let members = KeyMembers(document: document, node: node, position: index + 1)
            if try members.isTrue("revoked") { try revoke(members) }
        }
        for (index, node) in nodes {
            try read(KeyMembers(document: document, node: node, position: index + 1))
        }
        guard !keys.isEmpty || !revoked.isEmpty else {
            let why = passedOver.isEmpty ? "the set is empty" : passedOver.joined(separator: "; ")
            throw .notAKeySet("no usable key: \(why)")
        }
    }

    private mutating func read(_ members: KeyMembers) throws(KeySetError) {
        if try members.isTrue("revoked") { return }
        let found: DecryptionKey?
        switch try members.text("kty") {
        case "oct"?: found = try octetKey(members)
        case "EC"?: found = try ellipticKey(members)
        case let type?: found = passOver(members, "keys of type \(type) are not supported")
        case nil: throw members.error("`kty` is missing")
        }
        guard let key = found else { return }
        guard !revoked.contains(key) else {
            _ = passOver(members, "revoked")
            return
        }
        if let name = key.nameBytes, !names[key.use, default: []].insert(name).inserted {
            throw members.error("another key for \(key.use.name) has the same `kid`")
        }
        if refusesSamples, SampleKeys.contains(key) {
            let which = "\(members.label) is a published example key"
            throw KeySetError(description: "\(which): create your own with 'pushmill keys generate'")
        }
        keys.append(key)
    }

    private mutating func passOver(_ members: KeyMembers, _ why: String) -> DecryptionKey? {
        passedOver.append("\(members.label): \(why)")
        return nil
    }

    private mutating func revoke(_ members: KeyMembers) throws(KeySetError) {
        let name = try members.text("kid")
        // An emptied `k` does not count: pairs for key agreement have an empty secret too and would match it.
        let secret = try members.secret("k").flatMap { $0.count > 0 ? $0 : nil }
        let pair = try members.secret("d").flatMap { EllipticKey(secret: $0.bytes) }
        guard name != nil || secret != nil || pair != nil else {
            throw members.error("`revoked` needs `kid`, `k` or `d`")
        }
        revoked.add(name: name, secret: secret, point: pair?.point)
    }

    private mutating func octetKey(_ members: KeyMembers) throws(KeySetError) -> DecryptionKey? {
        let uses = KeyUse.allCases.filter { !$0.isElliptic }
        guard let algorithm = try members.text("alg") else {
            let names = uses.map(\.name).joined(separator: ", ")
            throw members.error("`alg` is missing: expected one of \(names)")
        }
        guard let use = uses.first(where: { $0.name == algorithm }) else {
            return passOver(members, "`alg` \(algorithm) is not supported")
        }
        guard let secret = try members.secret("k") else { throw members.error("`k` is missing") }
        guard use.counts?.contains(secret.count) ?? (secret.count > 0) else {
            throw members.error("`k` has the wrong length for \(algorithm): \(secret.count) bytes")
        }
        return DecryptionKey(name: try members.text("kid"), use: use, secret: secret)
    }

    private mutating func ellipticKey(_ members: KeyMembers) throws(KeySetError) -> DecryptionKey? {
        guard try members.text("crv") == "P-256" else {
            return passOver(members, "only the curve P-256 is supported")
        }
        let (algorithm, purpose) = try (members.text("alg"), members.text("use"))
        if algorithm == "ES256" || purpose == "sig", try members.text("auth") == nil {
            return passOver(members, "a signature key cannot decrypt")
        }
        guard let number = try members.secret("d") else {
            return passOver(members, "a public key cannot decrypt")
        }
        guard let pair = EllipticKey(secret: number.bytes) else {
            throw members.error("`d` is not a P-256 private key")
        }
        for (name, range): (StaticString, Range) in [("x", 1..<33), ("y", 33..<65)] {
            guard let coordinate = try members.secret(name) else { continue }
            guard coordinate.bytes.elementsEqual(pair.point[range]) else {
                throw members.error("`\(name)` does not match `d`")
            }
        }
        let auth = try members.secret("auth")
        if let auth, auth.count != WebPushForm.saltCount { throw members.error("`auth` is not 16 bytes long") }
        return DecryptionKey(
            name: try members.text("kid"), use: auth == nil ? .agreement : .webPush,
            secret: auth ?? SecretBytes([]), pair: pair)
    }
}

/// What entries marked `"revoked": true` revoke: the key with an entry's bytes, whatever its name, which may belong to a
/// new key; without bytes, the keys with its name.
struct RevokedKeys {
    /// As bytes, because keys are looked up by the bytes of their names.
    private var names: Set<[UInt8]> = []
    /// The public points of pairs.
    private var points: Set<[UInt8]> = []
    /// By a hash of this process's own, so that the bytes themselves stay in memory that is wiped.
    private var secrets: [Int: [SecretBytes]] = [:]

    var isEmpty: Bool { names.isEmpty && points.isEmpty && secrets.isEmpty }

    mutating func add(name: String?, secret: SecretBytes? = nil, point: [UInt8]? = nil) {
        if let secret { secrets[Self.hash(secret), default: []].append(secret) }
        if let point { points.insert(point) }
        if let name, secret == nil, point == nil { names.insert(Array(name.utf8)) }
    }

    func contains(_ key: DecryptionKey) -> Bool {
        if let name = key.nameBytes, names.contains(name) { return true }
        if let pair = key.pair, points.contains(pair.point) { return true }
        guard let alike = secrets[Self.hash(key.secret)] else { return false }
        return alike.contains { $0.bytes.elementsEqual(key.secret.bytes) }
    }

    private static func hash(_ secret: SecretBytes) -> Int {
        withExtendedLifetime(secret) {
            var hasher = Hasher()
            hasher.combine(bytes: secret.bytes)
            return hasher.finalize()
        }
    }
}

private struct KeyMembers {
    let document: JSONDocument
    let node: JSONNode
    let position: Int

    /// How log messages call this key: its name may be a recipient's.
    var label: String { "key \(position)" }

    func error(_ why: String) -> KeySetError { KeySetError(description: "\(label): \(why)") }

    func text(_ name: StaticString) throws(KeySetError) -> String? {
        guard let member = find(name) else { return nil }
        guard let text = document.string(of: member) else { throw error("`\(name)` is not a string") }
        return text
    }

    /// False if the member is missing.
    func isTrue(_ name: StaticString) throws(KeySetError) -> Bool {
        guard let member = find(name) else { return false }
        switch document.kind(of: member) {
        case .true: return true
        case .false: return false
        default: throw error("`\(name)` is neither true nor false")
        }
    }

    func secret(_ name: StaticString) throws(KeySetError) -> SecretBytes? {
        guard let member = find(name) else { return nil }
        guard document.kind(of: member) == .string else { throw error("`\(name)` is not a string") }
        let secret = document.withText(of: member) { text in
            text.withUnsafeBytes { try? SecretBytes(base64URL: $0) }
        }
        guard let secret = secret ?? nil else { throw error("`\(name)` is not base64url") }
        return secret
    }

    private func find(_ name: StaticString) -> JSONNode? { document.member(name, of: node) }
}

/// Why a key set cannot be used. Names the file and the position of the key, never its contents.
package struct KeySetError: Error, CustomStringConvertible {
    package let description: String

    static func notAKeySet(_ why: String) -> Self { Self(description: "not a JWK Set: \(why)") }
}

/// The keys of published examples, which anyone knows.
package enum SampleKeys {
    /// As `k` in a key set: four from the sample, one from the manifests, one from the regression example.
    private static let known = [
        "YSBzYW1wbGUga2V5LCBrbm93biB0byBldmVyeWJvZHk", "YW5vdGhlciBrZXkgdGhhdCBpcyBub3QgYSBzZWNyZXQ",
        "bmV2ZXIgdXNlIHRoZXNlIG91dHNpZGUgYSBzYW1wbGU", "Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZQ",
        "cmVwbGFjZSBtZTogbm90IGEgc2VjcmV0IGF0IGFsbCE", "b25seS1mb3ItdGhlLWV4YW1wbGU",
    ]

    private static let secrets = known.compactMap { try? BinaryText.bytes(ofBare: $0) }

    static func contains(_ key: DecryptionKey) -> Bool { secrets.contains { key.secret.bytes.elementsEqual($0) } }
}
