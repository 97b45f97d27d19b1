import PushmillTelemetry
import PushmillTestSupport
import Testing

@testable import Pushmill
@testable import PushmillCiphers
@testable import PushmillPayload
@testable import PushmillStages

/// The secrets of the examples, which are public.
struct SampleSecretTests {
    private static let root = String(#filePath.split(separator: "/Tests/")[0])

    @Test(
        "Sample secrets are refused beyond loopback unless the configuration allows them",
        arguments: [
            ("kafka: { bootstrap.servers: embedded }", false),
            ("kafka: { bootstrap.servers: 'localhost:9092' }", false),
            ("kafka: { bootstrap.servers: 'PLAINTEXT://127.0.0.1:1, [::1]:2' }", false),
            ("kafka: { bootstrap.servers: 'kafka:9092' }", true),
            ("kafka: { bootstrap.servers: 'localhost:9092', producer: { bootstrap.servers: 'kafka:9092' } }", true),
            ("kafka: { bootstrap.servers: 'kafka:9092', consumer: { bootstrap.servers: 'localhost:9092' } }", true),
            ("kafka: { bootstrap.servers: 'localhost:9092,kafka:9092' }", true),
            ("kafka: { bootstrap.servers: localhost }", false),
            ("kafka: { bootstrap.servers: 'localhost.example:9092' }", true),
            ("kafka: { bootstrap.servers: '127.example:9092' }", true),
            ("kafka: { bootstrap.servers: embedded }\nadmin: { listen: ':9464', token-file: t }", true),
            ("process: { sample-secrets: true }", false),
        ])
    func places(yaml: String, areRefused: Bool) throws {
        let configuration = try #require(Reading(yaml).configuration)
        expect(SampleSecrets.areRefused(configuration), is: areRefused)
    }

    @Test(
        "Every example's keys are refused, and the error says how to make others",
        arguments: ["sample/keys.jwks.json", "regression/keys.jwks.json", "kubernetes/secret.yaml"])
    func keys(file: String) throws {
        let text = String(decoding: try FileBytes(path: "\(Self.root)/deploy/\(file)").bytes, as: UTF8.self)
        let start = try #require(text.firstRange(of: "{\"keys\"")?.lowerBound)
        let folder = try TemporaryFolder()
        let path = try folder.write(String(text[start...]), to: "keys.json")
        var resources = StageResources { _, _ in }
        _ = try KeySetFile.open(path, resources)
        resources.refusesSamples = true
        #expect {
            try KeySetFile.open(path, resources)
        } throws: { error in
            "\(error)".contains(
                "is a published example key: create your own with 'pushmill keys generate'")
        }
    }

    @Test("A service beyond loopback does not start with an example's token", arguments: SampleSecrets.tokens)
    func token(token: String) async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("\(token)\n", to: "token")
        let yaml = "kafka: { bootstrap.servers: embedded }\nadmin: { listen: '0.0.0.0:0', token-file: \(path) }"
        let configuration = try #require(Reading(yaml).configuration)
        let error = await #expect(throws: ProgramError.self) {
            _ = try await Service(configuration, log: Log(level: .error))
        }
        #expect("\(try #require(error))".contains("\(path) contains a token from an example: create one"))
    }

    @Test("The known sample tokens are those of the examples")
    func tokens() throws {
        let secret = String(
            decoding: try FileBytes(path: "\(Self.root)/deploy/kubernetes/secret.yaml").bytes, as: UTF8.self)
        #expect(secret.contains("admin-token: \(SampleSecrets.tokens[0])\n"))
        let compose = try FileBytes(path: "\(Self.root)/deploy/compose/admin-token").bytes
        expect(String(decoding: compose, as: UTF8.self), is: SampleSecrets.tokens[1] + "\n")
    }
}
