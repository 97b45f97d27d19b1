import FoundationEssentials
import Glibc
import PushmillTestSupport
import Testing

@testable import Pushmill
@testable import PushmillCiphers

@Suite("Commands on keys and ciphertexts")
struct KeyCommandTests {
    /// Returns what a command wrote, or its exit code and its error.
    private func run(_ words: String, input: String = "") async -> String {
        let terminal = Terminal(input: input)
        let code = await terminal.run(Program.commands, words)
        return code == .success ? terminal.output : "\(code.rawValue) \(terminal.error)"
    }

    private func mode(_ path: String) throws -> mode_t {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return status.st_mode & 0o777
    }

    @Test("In every form, encrypted text decrypts again", arguments: SealingForm.allCases)
    func roundTrip(form: SealingForm) async throws {
        let text = "Grüße 👋🏽, \"see you\" at 12"
        guard form != .rot13 else {
            await expect(run("keys encrypt rot13", input: "Hello"), is: "Uryyb")
            await expect(run("keys decrypt rot13", input: "Uryyb\n"), is: "Hello")
            return
        }
        let keys = try KeyFolder()
        try await keys.generate("\(form == .webPushDraft ? "webpush" : form.rawValue) --kid k")
        let lines = try await keys.encrypt(text, "\(form.rawValue) --kid k").split(separator: "\n")
        let draft = lines.dropFirst().map { "--\($0)" }.joined(separator: " ")
        expect(draft.isEmpty, is: (form != .webPushDraft))
        try await expect(keys.decrypt("\(lines[0])\n", "--kid k \(draft)"), is: text)
    }

    @Test("A relayed web push decrypts with the options that the stage takes", arguments: [false, true])
    func relayed(hasHeaderLines: Bool) async throws {
        let keys = try KeyFolder(
            """
            formats: [webpush], fields: [{ from: /ENCRYPTED_DATA, encoding: z85 }],
            webpush: { dh-encoding: z85, salt-encoding: z85, header-lines: \(hasHeaderLines) }
            """)
        try await keys.generate("webpush --kid k")
        let lines = try await keys.encrypt("hello", "webpush-aesgcm").split(separator: "\n")
        let z85 = lines.map { line in
            let text = line.hasPrefix("dh=") || line.hasPrefix("salt=") ? line.drop { $0 != "=" }.dropFirst() : line
            return Z85.text(BinaryText.bytes(Array(text.utf8).span))
        }
        let point = hasHeaderLines ? "keyid=p256dh;dh=\(z85[1]);p256ecdsa=BAAA" : z85[1]
        let salt = hasHeaderLines ? "salt=\(z85[2])" : z85[2]
        let words = "--encoding z85 --dh-encoding z85 --salt-encoding z85 --dh=\(point) --salt=\(salt)"
        try await expect(keys.decrypt("\(z85[0])\n", words + (hasHeaderLines ? " --header-lines" : "")), is: "hello")
        try await expect(keys.body(z85[0], members: ["k": point, "s": salt]), is: "hello")
        await #expect(throws: Tool.Failed.self) {
            try await keys.decrypt(z85[0], words + (hasHeaderLines ? "" : " --header-lines"))
        }
    }

    @Test("New keys are appended to a file for its owner only and are not printed")
    func generated() async throws {
        let keys = try KeyFolder()
        try await expect(keys.generate("openssl --kid a"), is: "")
        try #require(chmod(keys.keys, 0o644) == 0)
        try await expect(keys.generate("jwe --enc A256CBC-HS512 --kid b"), is: "")
        try expect(mode(keys.keys), is: 0o600)
        let set = try keys.set()
        expect(set.keys.map { $0["kid"] }, is: ["a", "b"])
        try expect(set.key("b")["k"]?.utf8.count, is: 86)
    }

    @Test(
        "Adding a key keeps the key set's owner, group and permissions",
        arguments: [0o600, 0o640] as [mode_t])
    func lent(permissions: mode_t) async throws {
        let keys = try KeyFolder()
        try await keys.generate("openssl --kid a")
        try #require(chmod(keys.keys, permissions) == 0)
        // Only root may do this, and not in a user namespace without these IDs.
        let isGivenAway = chown(keys.keys, 12_345, 54_321) == 0
        try await keys.generate("openssl --kid b")
        try expect(keys.set().keys.count, is: 2)
        try expect(mode(keys.keys), is: permissions)
        var status = stat()
        expect(stat(keys.keys, &status), is: 0)
        if isGivenAway { #expect(status.st_uid == 12_345 && status.st_gid == 54_321) }
    }

    @Test("A key is not added to a file that another user has put where anybody can")
    func strange() async throws {
        let keys = try KeyFolder()
        try await keys.generate("openssl --kid a")
        // Only root may do this.
        guard chown(keys.keys, 12_345, 54_321) == 0 else { return }
        let folder = String(keys.keys[..<(try #require(keys.keys.lastIndex(of: "/")))])
        try #require(chmod(folder, 0o777) == 0)
        let failure = await #expect(throws: Tool.Failed.self) { try await keys.generate("openssl --kid b") }
        expect(failure.map { "\($0)".contains("belongs to another user") }, is: true)
        try expect(keys.set().keys.count, is: 1)
    }

    // Serialized: a search of memory copies what the other case is about to wipe.
    @Test(
        "No secret of a new key or of its key set stays in memory", .serialized,
        arguments: ["k", "d"])
    func wiped(member: String) async throws {
        let keys = try KeyFolder()
        for name in ["a", "b"] {
            try await keys.generate(member == "k" ? "aes-gcm --kid \(name)" : "jwe --alg ECDH-ES --kid \(name)")
        }
        let set = try ReadOnlyText(path: keys.keys)
        let secrets = set.values(of: member)
        expect(secrets.count, is: 2)
        for secret in secrets { #expect(try !OwnMemory.contains(secret)) }
        let secret = try #require(secrets.first)
        // A copy that exists is found. Other threads change the maps during the search, so one search may miss it.
        var copy: [UInt8] = []
        var isFound = false
        for _ in 0..<3 where !isFound {
            copy = Array(secret)
            isFound = try withExtendedLifetime(copy) { try OwnMemory.contains(secret) }
        }
        #expect(isFound, "it is at \(copy.withUnsafeBytes { "\($0)" }), among \(OwnMemory.maps)")
    }

    @Test("Keys that are added concurrently are all kept")
    func addedAtOnce() async throws {
        let keys = try KeyFolder()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask { _ = try await keys.generate("openssl --kid \(number)") }
            }
            try await group.waitForAll()
        }
        try expect(keys.set().keys.count, is: 20)
    }

    @Test("A lasting lock on the folder, as by flock around the command, blocks no key")
    func heldFolder() throws {
        let keys = try KeyFolder()
        let folder = open(keys.folder.path, O_RDONLY | O_DIRECTORY)
        defer { close(folder) }
        try #require(flock(folder, LOCK_EX) == 0)
        let file = SecretFile(path: keys.keys)
        let isDone = try file.alone(patience: .milliseconds(50)) { () throws(ProgramError) in true }
        #expect(isDone)
    }

    @Test("A key set's byte order mark is accepted, and removed once a key is added")
    func mark() async throws {
        let keys = try KeyFolder()
        try await keys.generate("aes-gcm --kid a")
        let text = try String(decoding: Data(contentsOf: URL(filePath: keys.keys)), as: UTF8.self)
        try keys.folder.write("keys.json", "\u{FEFF}\(text)")
        let sealed = try await keys.encrypt("hello", "aes-gcm --kid a")
        try await expect(keys.decrypt("\(sealed)\n", "--kid a"), is: "hello")
        try await keys.generate("aes-gcm --kid b")
        try expect(Data(contentsOf: URL(filePath: keys.keys)).first, is: UInt8(ascii: "{"))
        try expect(keys.set().keys.map { $0["kid"] }, is: ["a", "b"])
    }

    @Test("A link to a key set stays a link")
    func link() async throws {
        let keys = try KeyFolder()
        try await keys.generate("openssl --kid a")
        try #require(symlink("keys.json", "\(keys.folder.path)/link") == 0)
        await expect(run("keys generate openssl --kid b --keys \(keys.folder.path)/link"), is: "")
        try expect(keys.set().keys.count, is: 2)
    }

    @Test("No key is generated under a name that the set revokes")
    func revokedName() async throws {
        let keys = try KeyFolder()
        try await keys.generate("openssl --kid a")
        let text = try String(decoding: Data(contentsOf: URL(filePath: keys.keys)), as: UTF8.self)
        let revoking = text.replacing("]}", with: #",{"kid":"b","revoked":true}]}"#)
        try Data(revoking.utf8).write(to: URL(filePath: keys.keys))
        let refused = await run("keys generate openssl --kid b --keys \(keys.keys)")
        #expect(refused.contains("the set revokes this name: choose another"))
        try expect(String(decoding: Data(contentsOf: URL(filePath: keys.keys)), as: UTF8.self), is: revoking)
    }

    @Test("Generating a key pair prints its public half for senders")
    func published() async throws {
        struct Public: Decodable {
            let kty, d, p256dh, auth: String?
        }
        let keys = try KeyFolder()
        let agreement = try await keys.generate("jwe --alg ECDH-ES --kid ec")
        let jwk = try JSONDecoder().decode(Public.self, from: Data(agreement.utf8))
        #expect(jwk.kty == "EC" && jwk.d == nil)
        let push = try await keys.generate("webpush --kid p")
        let subscription = try JSONDecoder().decode(Public.self, from: Data(push.utf8))
        #expect(subscription.p256dh?.utf8.count == 87 && subscription.d == nil)
        try expect(subscription.auth, is: keys.set().key("p")["auth"])
    }

    @Test("A key set that others can read is used with a warning")
    func warning() async throws {
        let keys = try KeyFolder()
        try await keys.generate("openssl")
        try #require(chmod(keys.keys, 0o644) == 0)
        let terminal = Terminal(input: "x")
        let code = await terminal.run(Program.commands, "keys encrypt openssl --keys \(keys.keys)")
        expect(code, is: .success)
        expect(
            terminal.error, is: "warning: \(keys.keys) holds keys and is readable by users other than its owner")
    }

    @Test(
        "Errors say what is wrong, where, and what to do",
        arguments: [
            ("generate jw --keys @k", "64 pushmill: FORMAT: expected jwe, openssl,"),
            ("generate openssl", "64 pushmill: 'keys generate' needs --keys FILE"),
            ("generate aes-gcm --keys @k --alg dir", "64 pushmill: --alg ALG: expected A256GCM or A128GCM, found"),
            ("generate openssl --keys @k --enc A256GCM", "64 pushmill: --enc ENC is allowed only with dir"),
            ("generate openssl --keys @bad", "78 pushmill: @bad: not a JWK Set: `keys` is missing or not an array"),
            ("generate jwe --kid d --keys @keys.json", "78 pushmill: @keys.json: key 2: another key for dir"),
            ("generate openssl --keys @no/where", "70 pushmill: cannot create @no/where: No such file"),
            ("encrypt jwe", "64 pushmill: --keys FILE is missing"),
            ("encrypt jwe --keys @nowhere", "78 pushmill: @nowhere: No such file or directory; 'pushmill"),
            ("encrypt jwe --keys @bad", "78 pushmill: @bad: not a JWK Set"),
            ("encrypt jwe --keys @keys.json --enc A128GCM", "65 pushmill: no-key: the set has no key for this (--enc"),
            (
                "encrypt jwe --keys @keys.json --kid x",
                "65 pushmill: no-key: the set has no key for this (--kid x); see"
            ),
            ("encrypt jwe --keys @keys.json --alg A128W", "64 pushmill: --alg ALG: expected dir, A128KW,"),
            ("encrypt aes-gcm --keys @keys.json --enc A256GCM", "64 pushmill: --enc ENC is allowed only with jwe"),
            (
                "encrypt jwe --keys @keys.json --iterations 5",
                "64 pushmill: --iterations N is allowed only with openssl"
            ),
            (
                "encrypt openssl --keys @keys.json --iterations 5 --digest md5",
                "64 pushmill: --iterations N: PBKDF2 requires sha256"
            ),
            ("decrypt --keys @keys.json", "65 pushmill: malformed: it has none of the formats"),
            ("decrypt --keys @keys.json --dh AAAA", "64 pushmill: --dh and --salt must be given together"),
            ("decrypt --keys @keys.json --dh AAAA --salt AAAA", "64 pushmill: --dh and --salt: expected 65 bytes"),
            ("decrypt --keys @keys.json --encoding z86", "64 pushmill: --encoding NAME: expected auto, base64,"),
            (
                "decrypt jwe --keys @keys.json --header-lines",
                "64 pushmill: --header-lines is allowed only with webpush"
            ),
            (
                "decrypt --keys @keys.json --salt-encoding z85",
                "64 pushmill: --salt-encoding NAME is allowed only with --dh and --salt"
            ),
            ("decrypt jwe --digest md5 --keys @keys.json", "64 pushmill: --digest NAME is allowed only with openssl"),
        ])
    func mistakes(words: String, message: String) async throws {
        let keys = try KeyFolder()
        try await keys.generate("jwe --kid d")
        try keys.folder.write("bad", "[]")
        let said = await run("keys \(words)".replacing("@", with: "\(keys.folder.path)/"), input: "hello world!")
        #expect(said.replacing("\(keys.folder.path)/", with: "@").hasPrefix(message), "\(said)")
    }

    @Test("A text longer than the service would show is not encrypted")
    func tooLarge() async throws {
        let keys = try KeyFolder()
        try await keys.generate("jwe")
        let said = await run(
            "keys encrypt jwe --keys \(keys.keys)", input: String(repeating: "x", count: 64 << 10 + 1))
        expect(said, is: "65 pushmill: too-large: the text is over 64 KiB, the limit of the service")
    }
}

/// A file's text in read-only memory, which `OwnMemory` does not search.
private final class ReadOnlyText {
    private static let room = 1 << 16
    private let text: UnsafeRawBufferPointer

    init(path: String) throws {
        let descriptor = open(path, O_RDONLY)
        defer { close(descriptor) }
        let page = try #require(mmap(nil, Self.room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
        text = UnsafeRawBufferPointer(start: page, count: try #require(Int(exactly: read(descriptor, page, Self.room))))
        try #require(mprotect(page, Self.room, PROT_READ) == 0)
    }

    deinit { munmap(UnsafeMutableRawPointer(mutating: text.baseAddress), Self.room) }

    /// The 43-character values of all members of that name.
    func values(of member: String) -> [UnsafeRawBufferPointer] {
        let opening = Array("\"\(member)\":\"".utf8)
        return text.indices.dropLast(opening.count + 43).filter { text[$0...].starts(with: opening) }.map {
            UnsafeRawBufferPointer(rebasing: text[($0 + opening.count)...].prefix(43))
        }
    }
}

/// The memory that this process can write to, including what it has freed.
private enum OwnMemory {
    /// Read to the end: the kernel returns a page at a time, after which Foundation considers the file read.
    static var maps: String {
        let file = open("/proc/self/maps", O_RDONLY)
        defer { close(file) }
        var (text, page) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 16))
        while case let count = read(file, &page, page.count), count > 0 { text += page[..<count] }
        return String(decoding: text, as: UTF8.self)
    }

    static func contains(_ text: UnsafeRawBufferPointer) throws -> Bool {
        let memory = open("/proc/self/mem", O_RDONLY)
        try #require(memory >= 0)
        defer { close(memory) }
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        let page = Int(getpagesize())
        for line in maps.split(separator: "\n") {
            let ends = line.prefix { $0 != " " }.split(separator: "-").compactMap { Int($0, radix: 16) }
            // The address sanitizer's shadow memory is far larger than the memory itself.
            guard line.contains(" rw-p "), ends.count == 2, ends[1] - ends[0] < 1 << 32 else { continue }
            var start = ends[0]
            while start < ends[1] {
                let count = pread(memory, &buffer, min(buffer.count, ends[1] - start), start)
                if count > 0, buffer.withUnsafeBytes({ find(text, in: $0.prefix(count)) }) { return true }
                if count <= 0 {
                    // Another thread may have unmapped a page meanwhile: the search goes on behind it.
                    start += page - start % page
                } else if start + count < ends[1] {
                    // The text may begin in what was read and end after it, however little was read.
                    start += max(1, count - text.count + 1)
                } else {
                    break
                }
            }
        }
        return false
    }

    private static func find(_ text: UnsafeRawBufferPointer, in bytes: Slice<UnsafeRawBufferPointer>) -> Bool {
        var rest = UnsafeRawBufferPointer(rebasing: bytes)
        while rest.count >= text.count, let start = rest.baseAddress, let wanted = text.baseAddress {
            guard let found = memchr(start, Int32(text[0]), rest.count - text.count + 1) else { return false }
            if memcmp(found, wanted, text.count) == 0 { return true }
            rest = UnsafeRawBufferPointer(rebasing: rest[(UnsafeRawPointer(found) - start + 1)...])
        }
        return false
    }
}
