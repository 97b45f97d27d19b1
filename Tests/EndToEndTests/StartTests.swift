import Glibc
import PushmillKafka
import PushmillTestSupport
import Testing

@testable import PushmillTelemetry

extension EndToEnd {
    /// Brokers that are unavailable, or refuse the login, when a service starts.
    @Suite("A start that waits")
    struct StartTests {
        private static let topics = ["in", "out", "dead"]

        @Test("Unreachable brokers are named, and the service can be ended while it waits for them")
        func unreachable() async throws {
            try await run(at: "127.0.0.1:1") { service in
                try await service.wait(forLine: #""reason":"no-broker""#)
                expect(service.lines(with: "no broker answers at 127.0.0.1:1").count, is: 1)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0), within: .seconds(20))
                try await expectJSON(service)
            }
        }

        @Test("A service that waits for keys from a pipe without a writer can be ended")
        func pipe() async throws {
            let folder = try TemporaryFolder()
            let pipe = "\(folder.path)/keys"
            try #require(mkfifo(pipe, 0o600) == 0)
            try await run(ServiceConfiguration(stages: ["decrypt: { keys: \(pipe) }"]), at: "127.0.0.1:1") { service in
                // Opening the pipe for writing succeeds once the service reads it.
                let limit = ContinuousClock.now + .seconds(60)
                var writer: Int32 = -1
                while writer < 0, ContinuousClock.now < limit {
                    writer = open(pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
                    try await Task.sleep(for: .milliseconds(5))
                }
                try #require(writer >= 0)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0), within: .seconds(20))
                close(writer)
            }
        }

        @Test(
            "A service started during an outage waits, and becomes ready when the brokers return",
            .thorough,
            .enabled(if: Brokers.areMock, "others cannot be stopped"))
        func away() async throws {
            let brokers = try Brokers()
            let mock = try #require(brokers.mock)
            for topic in Self.topics { try brokers.createTopic(topic, partitions: 1) }
            mock.setDown()
            try await run(at: brokers.bootstrapServers) { service in
                // Until librdkafka tries to connect only every ten seconds.
                try await service.wait(forLine: #""reason":"no-broker""#, count: 6, within: .seconds(120))
                #expect(try await service.get("/healthz").contains(" 200 "))
                let ready = try await service.get("/readyz")
                #expect(ready.contains(" 503 ") && ready.contains(#""reason":"no-broker""#))
                mock.setUp()
                // The mock cluster takes five seconds more if one shard joins later than the other.
                let client = try #require(try AdminClient(of: service))
                try await client.wait(for: "ready", at: "/readyz") { $0.contains(" 200 ") }
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test("A refused login is told apart from unreachable brokers at once, and is retried")
        func login() async throws {
            let broker = try LoginProxy(MockCluster(), password: "another")
            try await run(Self.configuration(("sasl.password", "not-for-logs")), at: broker.address) { service in
                try await service.wait(forLine: #""reason":"authentication""#)
                expect(service.lines(with: "reject the login").count, is: 1)
                try await broker.wait(forLogins: 1)
                let first = try #require(broker.logins.first)
                if try isSoon(first, afterStartOf: service) {
                    #expect(service.lines(with: #""reason":"no-broker""#).isEmpty)
                }
                let later = service.lines.drop { !$0.contains(#""reason":"authentication""#) }
                #expect(later.allSatisfy { !$0.contains(#""reason":"no-broker""#) })
                #expect(try await service.get("/healthz").contains(" 200 "))
                let ready = try await service.get("/readyz")
                #expect(ready.contains(" 503 ") && ready.contains(#""reason":"authentication""#))
                // The service tries again: the password may be corrected at the brokers.
                let logins = broker.logins.count
                try await broker.wait(forLogins: logins + 1)
                #expect(service.lines(with: "not-for-logs").isEmpty && !ready.contains("not-for-logs"))
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        /// Whether an answer came half a second before the end of the first attempt, which begins when the endpoint is
        /// up and takes a second: on a busy machine, only the second attempt may learn of the refusal.
        private func isSoon(_ answer: Int64, afterStartOf service: ServiceProcess) throws -> Bool {
            let line = try #require(service.lines(with: "the admin endpoint is up").first)
            let time = line.firstMatch(of: /"time":"([^"]+)"/)?.output.1
            let start = String(try #require(time))
            var latest: [UInt8] = []
            latest.append(timestamp: answer - 500_000_000)
            return String(decoding: latest, as: UTF8.self) <= start
        }

        @Test("After a refused password is corrected in its file, the service becomes ready by itself")
        func mendedPassword() async throws {
            let broker = try LoginProxy(mock(), password: "not-for-logs")
            let secrets = try TemporaryFolder()
            let file = try secrets.write("wrong\n", to: "password")
            try await run(Self.configuration(("sasl.password-file", file)), at: broker.address) { service in
                try await service.wait(forLine: #""reason":"authentication""#)
                // The file is removed first, as some tools write files: no reason to end.
                unlink(file)
                try await service.wait(forLine: "kafka.sasl.password-file: \(file)")
                #expect(try await service.get("/readyz").contains(" 503 "))
                try secrets.write("not-for-logs\n", to: "password")
                try await service.wait(forLine: "serving partitions")
                let client = try #require(try AdminClient(of: service))
                try await client.wait(for: "ready", at: "/readyz") { $0.contains(" 200 ") }
                #expect(service.lines(with: "not-for-logs").isEmpty && service.lines(with: "wrong").isEmpty)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test(
            "An unusable secret fails the start as a wrong setting does, and is not revealed",
            arguments: ["kafka.sasl.password-file", "admin.token-file"], ["", "not-for\0logs"])
        func unusableSecret(setting: String, text: String) async throws {
            let secrets = try TemporaryFolder()
            let file = try secrets.write(text, to: "secret")
            var configuration = ServiceConfiguration()
            if setting == "admin.token-file" {
                configuration.tokenFile = file
            } else {
                configuration = Self.configuration(("sasl.password-file", file))
            }
            try await run(configuration, at: "127.0.0.1:1") { service in
                try await service.expectEnd(.exited(78))
                let reason = "\(setting): \(file) is empty, not UTF-8, or contains a NUL character"
                expect(service.lines(with: reason).count, is: 1)
                #expect(service.lines(with: "not-for").isEmpty)
                try await expectJSON(service)
            }
        }

        @Test(
            "The admin token is reread when its file changes and at SIGHUP, even during startup",
            arguments: [false, true])
        func token(isWaiting: Bool) async throws {
            let mock = try mock()
            let secrets = try TemporaryFolder()
            var configuration = ServiceConfiguration()
            configuration.tokenFile = try secrets.write("first\n", to: "token")
            try await run(configuration, at: isWaiting ? "127.0.0.1:1" : mock.bootstrapServers) { service in
                try await service.wait(forLine: isWaiting ? #""reason":"no-broker""# : "serving partitions")
                func expect(_ token: String, _ code: Int) async throws {
                    let client = try #require(try AdminClient(of: service, token: token))
                    #expect(try await elsewhere { try client.ask("/config") }.contains(" \(code) "), "\(token)")
                }
                try await expect("first", 200)
                // The file is unchanged: only the signal makes the service read it.
                service.send(SIGHUP)
                try await service.wait(forLine: "reloaded a file")
                try secrets.write("second\n", to: "token")
                try await service.wait(forLine: "reloaded a file", count: 2)
                try await expect("second", 200)
                try await expect("first", 401)
                try secrets.write("no token\n", to: "token")
                try await service.wait(forLine: "cannot reload a file: its previous contents stay in use")
                try await expect("second", 200)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test(
            "A topic that the brokers do not know is named and waited for", .thorough,
            .enabled(if: Brokers.areMock, "others may create it"), arguments: topics)
        func unknownTopic(name: String) async throws {
            let brokers = try Brokers()
            let mock = try #require(brokers.mock)
            for topic in Self.topics { try brokers.createTopic(topic, partitions: 1) }
            mock.setTopicError(name, code: 3)
            try await run(at: brokers.bootstrapServers) { service in
                try await service.wait(forLine: "the brokers do not know the topic \(name)")
                #expect(try await service.get("/healthz").contains(" 200 "))
                let ready = try await service.get("/readyz")
                #expect(ready.contains(" 503 ") && ready.contains(#""reason":"unknown-topic""#))
                mock.setTopicError(name, code: 0)
                try await service.wait(forLine: "serving partitions")
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test(
            "A failed start is reported in the format of the log's other lines",
            arguments: ["badge: {}", "contact: {}"])
        func failed(stage: String) async throws {
            var configuration = ServiceConfiguration()
            configuration.state = "/dev/null/state.sqlite"
            configuration.stages = [stage]
            try await run(configuration, at: "127.0.0.1:1") { service in
                try await service.expectEnd(.exited(78))
                expect(service.lines(with: "the service cannot start").count, is: 1)
                try await expectJSON(service)
            }
        }

        @Test("A service whose port is in use exits with 70, which invites a restart")
        func port() async throws {
            try await run(at: "127.0.0.1:1") { service in
                try await service.wait(forLine: "the admin endpoint is up")
                var configuration = ServiceConfiguration()
                configuration.listen = try #require(AdminClient.address(of: service))
                try await run(configuration, at: "127.0.0.1:1") { second in try await second.expectEnd(.exited(70)) }
            }
        }

        @Test(
            "A service whose disk is full at the start exits with 70, which invites a restart",
            .enabled(if: SmallDisk.mayMount, "needs the right to mount"),
            arguments: ["badge: {}", "contact: {}"])
        func fullDisk(stage: String) async throws {
            let disk = try SmallDisk()
            try disk.fill()
            var configuration = ServiceConfiguration()
            configuration.state = "\(disk.folder.path)/state"
            configuration.stages = [stage]
            try await run(configuration, at: "127.0.0.1:1") { service in
                try await service.expectEnd(.exited(70))
                expect(service.lines(with: "cannot use the state (state.path)").count, is: 1)
            }
        }

        @Test("A certificate that is missing, or removed during the wait, does not end the service")
        func certificate() async throws {
            let folder = try TemporaryFolder()
            let file = folder.path + "/ca.pem"
            var configuration = ServiceConfiguration()
            configuration.consumer = [("security.protocol", "ssl"), ("ssl.ca.location", file)]
            configuration.producer += configuration.consumer
            try await run(configuration, at: "127.0.0.1:1") { service in
                try await service.wait(forLine: #""reason":"tls""#)
                #expect(try await service.get("/healthz").contains(" 200 "))
                #expect(try await service.get("/readyz").contains(#""reason":"tls""#))
                try folder.write(Self.certificate, to: "ca.pem")
                try await service.wait(forLine: #""reason":"no-broker""#)
                unlink(file)
                try await service.wait(forLine: #""reason":"tls""#, count: 2)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        /// Belongs to nobody: its private key was thrown away.
        private static let certificate = """
            -----BEGIN CERTIFICATE-----
            MIIBcjCCARegAwIBAgIUerJW0Pn8Zaclym7PYfv2QIstS84wCgYIKoZIzj0EAwIw
            DTELMAkGA1UEAwwCY2EwIBcNMjYxMTI0MDE0MzQwWhgPMjEyNjEwMzEwMTQzNDBa
            MA0xCzAJBgNVBAMMAmNhMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEFznBP9+m
            z7GcPLXRM0I1FT+LX1t2WYF1g4xej1bOJqeds0hWkO/oz1zTwa7w9tWZuPJG/ujT
            5EMeaVFKEnToWqNTMFEwHQYDVR0OBBYEFJloM4pkaJw9zmX3iDSIpDsfYskpMB8G
            A1UdIwQYMBaAFJloM4pkaJw9zmX3iDSIpDsfYskpMA8GA1UdEwEB/wQFMAMBAf8w
            CgYIKoZIzj0EAwIDSQAwRgIhAKqYKra/4u1WEJi+w8N8jINeUIeIYNkls7GpmNpb
            VUPaAiEAjrVENA2pFehD4UC/YihzWok0PZ57iDFSWwtbuXKckP0=
            -----END CERTIFICATE-----

            """

        private func mock() throws -> MockCluster {
            let mock = try MockCluster()
            for topic in Self.topics { try mock.createTopic(topic, partitions: 1) }
            return mock
        }

        private static func configuration(_ password: (name: String, value: String)) -> ServiceConfiguration {
            var configuration = ServiceConfiguration()
            let login = [
                ("security.protocol", "SASL_PLAINTEXT"), ("sasl.mechanisms", "PLAIN"), ("sasl.username", "u"), password,
            ]
            configuration.consumer += login
            configuration.producer += login
            return configuration
        }

        private func expectJSON(_ service: ServiceProcess) async throws {
            #expect(service.lines.allSatisfy { $0.hasPrefix(#"{"time":"#) }, "\(service.lines)")
        }

        private func run(
            _ configuration: ServiceConfiguration = ServiceConfiguration(), at servers: String,
            _ body: (ServiceProcess) async throws -> Void
        ) async throws {
            let folder = try TemporaryFolder()
            let text = configuration.text(
                bootstrapServers: servers, group: "g", input: Self.topics[0], output: Self.topics[1],
                deadLetters: Self.topics[2])
            let service = try ServiceProcess(["run", "--config", folder.write(text, to: "service.yaml")])
            do {
                try await body(service)
            } catch {
                Issue.record("\(error)\n\(service.lines.suffix(40).joined(separator: "\n"))")
            }
            try await service.clear()
        }
    }
}
