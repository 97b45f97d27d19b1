import Glibc
import PushmillTestSupport
import Testing

extension EndToEnd {
    @Suite("What operators must not learn")
    struct SecrecyTests {
        /// Run once: everything that a service tells operators while its messages end in every way.
        static let said = Task { try await play() }

        @Test(
            "No secret appears in logs, metrics, pages, probes or errors, even at the lowest log level",
            arguments: Secret.allCases)
        func secret(_ secret: Secret) async throws {
            let said = try await Self.said.value
            for (place, text) in said {
                #expect(!text.contains(secret.rawValue), "\(place)")
            }
        }

        @Test("The service reaches everything that could reveal a secret")
        func reached() async throws {
            let said = try await Self.said.value
            let metrics = try #require(said["/metrics"])
            for outcome in ["modified", "passed", "dead-letter", "best-attempt"] {
                let line = #"\npushmill_records_published_total{outcome="\#(outcome)"} [1-9]"#
                #expect(try metrics.contains(Regex(line)), "\(outcome)")
            }
            for file in ["keys.json", "contacts.jsonl"] {
                #expect(metrics.contains("pushmill_reloads_total{target=\"\(file)\",result=\"failed\"} "))
            }
            expect(said["/logs"]?.contains(#""level":"error""#), is: true)
            expect(said["/config"]?.contains("sasl.password: "), is: true)
            expect(said["refused"]?.contains(" 401 "), is: true)
        }

        /// As the kernel tells the process. `apply` stands for commands that use keys and lack the setting.
        @Test(
            "Other processes cannot look into a process's memory unless the setting allows it",
            arguments: [
                ("run", "hidden", ""), ("apply", "hidden", ""), ("run", "shown", "process: { core-dumps: true }"),
            ])
        func memory(command: String, memory: String, setting: String) async throws {
            let folder = try TemporaryFolder()
            var configuration = ServiceConfiguration()
            configuration.stages = ["memory: {}"]
            let text = configuration.text(
                bootstrapServers: "127.0.0.1:1", group: "g", input: "in", output: "out", deadLetters: "dead")
            let file = try folder.write("\(text)\n\(setting)", to: "service.yaml")
            let service = try ServiceProcess([command, "--config", file])
            try await service.wait(forLine: "memory is ")
            expect(service.lines(with: "memory is \(memory)").count, is: 1)
            try await service.clear()
        }

        /// What was said, by its place.
        private static func play() async throws -> [String: String] {
            let material = try SecretMaterial()
            let said = Watched<[String: String]>([:])
            try await Scene.play(partitions: 1) { scene in
                var configuration = ServiceConfiguration()
                configuration.logLevel = "trace"
                configuration.tokenFile = material.tokenFile
                configuration.consumer = [("sasl.password", Secret.password.rawValue)]
                configuration.delivery = [("deadline", "1s")]
                configuration.stages = material.stages
                let service = try scene.start(configuration)
                try await service.wait(forLine: "serving partitions")
                let start = try await elsewhere {
                    try #require(try AdminClient(of: service, token: Secret.adminToken.rawValue)).ask("/metrics")
                }
                let records = try material.records()
                for recipient in [Secret.recipient.rawValue, "slow-\(Secret.recipient.rawValue)"] {
                    try await scene.feeder.publish(records, headers: SecretMaterial.headers(recipient: recipient))
                }
                try await scene.deadLetters.wait(count: 2 * SecretMaterial.brokenCount)
                try await scene.outputs.wait(count: 2 * (records.count - SecretMaterial.brokenCount))
                try material.spoilFiles()
                try await service.wait(forLine: "cannot reload a file", count: 2)
                let pages = try await elsewhere { try ask(service) }
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
                said.change {
                    $0 = pages
                    $0["/metrics at the start"] = start
                    $0["standard error"] = service.lines.joined(separator: "\n")
                }
            }
            return said.value
        }

        private static func ask(_ service: ServiceProcess) throws -> [String: String] {
            let client = try #require(try AdminClient(of: service, token: Secret.adminToken.rawValue))
            let stranger = try #require(try AdminClient(of: service, token: Secret.wrongToken.rawValue))
            var said = ["refused": try stranger.ask("/config")]
            for path in ["/", "/metrics", "/healthz", "/readyz", "/logs", "/config", "/log-level"] {
                said[path] = try client.ask(path == "/logs" ? "/logs?limit=2048" : path)
            }
            said["OpenMetrics"] = try client.ask("/metrics", accept: "application/openmetrics-text")
            return said
        }
    }
}
