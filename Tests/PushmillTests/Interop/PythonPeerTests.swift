import PushmillTestSupport
import Testing

@Suite("Interop with jwcrypto and http_ece", .enabled(if: PythonPeers.isThere, "\(PythonPeers.whyNot)"))
struct PythonPeerTests {
    private static let text = "Grüße 👋🏽, \"see you\" at 12"

    private struct Combination {
        let algorithm: String
        let encryption: String
        /// The name of the key.
        let name: String
    }

    private static let encryptions = ["A128GCM", "A256GCM", "A128CBC-HS256", "A256CBC-HS512"]

    /// Generates a key for each `alg`, for `dir` one of each length, and returns all that the keys can do.
    private func combinations(_ keys: KeyFolder) async throws -> [Combination] {
        var all: [Combination] = []
        for encryption in Self.encryptions {
            try await keys.generate("jwe --enc \(encryption) --kid dir-\(encryption)")
            all.append(Combination(algorithm: "dir", encryption: encryption, name: "dir-\(encryption)"))
        }
        for algorithm in ["A128KW", "A256KW", "A256GCMKW", "ECDH-ES"] {
            try await keys.generate("jwe --alg \(algorithm) --kid \(algorithm)")
        }
        let agreements = ["ECDH-ES", "ECDH-ES+A128KW", "ECDH-ES+A192KW", "ECDH-ES+A256KW"]
        for algorithm in ["A128KW", "A256KW", "A256GCMKW"] + agreements {
            for encryption in Self.encryptions {
                let name = agreements.contains(algorithm) ? "ECDH-ES" : algorithm
                all.append(Combination(algorithm: algorithm, encryption: encryption, name: name))
            }
        }
        return all
    }

    @Test("Text that jwcrypto encrypts decrypts here for every alg and enc, deflated or not")
    func jweTheirs() async throws {
        let keys = try KeyFolder()
        let combinations = try await combinations(keys)
        let set = try keys.set()
        let jobs = try combinations.flatMap { combination in
            try [nil, "DEF"].map { zip in
                PythonPeers.Job(
                    form: "jwe", do: .encrypt, key: try set.key(combination.name), text: Self.text,
                    alg: combination.algorithm, enc: combination.encryption, zip: zip)
            }
        }
        let answers = try PythonPeers.run(jobs)
        expect(answers.count, is: 64)
        for (job, answer) in zip(jobs, answers) {
            let sealed = try #require(answer.text, "\(job.alg ?? "") \(job.enc ?? ""): \(answer.error ?? "")")
            try await expect(keys.decrypt(sealed), is: Self.text)
            try await expect(keys.body(sealed), is: Self.text)
        }
    }

    @Test("jwcrypto decrypts text that we encrypt, for every alg and enc")
    func jweOurs() async throws {
        let keys = try KeyFolder()
        let combinations = try await combinations(keys)
        let set = try keys.set()
        var jobs: [PythonPeers.Job] = []
        for combination in combinations {
            let words = "jwe --kid \(combination.name) --alg \(combination.algorithm) --enc \(combination.encryption)"
            let sealed = try await keys.encrypt(Self.text, words)
            jobs.append(.init(form: "jwe", do: .decrypt, key: try set.key(combination.name), text: sealed))
        }
        let answers = try PythonPeers.run(jobs)
        expect(answers.count, is: 32)
        for (combination, answer) in zip(combinations, answers) {
            expect(answer.text, is: Self.text, "\(combination): \(answer.error ?? "")")
        }
    }

    @Test("Text that http_ece encrypts decrypts here", arguments: ["webpush", "webpush-aesgcm"])
    func webPushTheirs(form: String) async throws {
        let keys = try KeyFolder()
        try await keys.generate("webpush --kid push")
        let job = PythonPeers.Job(form: form, do: .encrypt, key: try keys.set().key("push"), text: Self.text)
        let answer = try #require(try PythonPeers.run([job]).first)
        let sealed = try #require(answer.text, "\(answer.error ?? "")")
        var words = ""
        var members: [String: String] = [:]
        if let point = answer.dh, let salt = answer.salt {
            words = "--dh=\(point) --salt=\(salt)"
            members = ["k": point, "s": salt]
        }
        try await expect(keys.decrypt(sealed, words), is: Self.text)
        try await expect(keys.body(sealed, members: members), is: Self.text)
    }

    @Test("http_ece decrypts text that we encrypt", arguments: ["webpush", "webpush-aesgcm"])
    func webPushOurs(form: String) async throws {
        let keys = try KeyFolder()
        try await keys.generate("webpush --kid push")
        let lines = try await keys.encrypt(Self.text, form).split(separator: "\n").map { String($0) }
        var job = PythonPeers.Job(
            form: form, do: .decrypt, key: try keys.set().key("push"), text: try #require(lines.first))
        if form == "webpush-aesgcm" {
            try #require(lines.count == 3)
            job.dh = String(lines[1].trimmingPrefix("dh="))
            job.salt = String(lines[2].trimmingPrefix("salt="))
        }
        let answer = try #require(try PythonPeers.run([job]).first)
        expect(answer.text, is: Self.text, "\(answer.error ?? "")")
    }
}
