import Glibc
import PushmillCiphers
import PushmillTestSupport
import Testing

extension EndToEnd {
    @Suite("Keys that change while the service runs")
    struct KeyReloadTests {
        /// A key set, and what is encrypted with it.
        private struct Keys {
            let text: String
            let ciphertext: String

            init() throws {
                let set = KeyGenerator.add(try KeyGenerator.generate(.direct, name: nil), to: nil) ?? []
                text = String(decoding: set, as: UTF8.self)
                let ring = KeyRing(try KeySetReader(set).keys)
                ciphertext = try Sealer().seal(Array("hello".utf8), as: .jwe, ring).text
            }

            func record(_ number: Int) -> (key: String, value: [UInt8]) {
                let payload =
                    #"{"n":\#(number),"aps":{"mutable-content":1,"alert":"?"},"ENCRYPTED_DATA":"\#(ciphertext)"}"#
                return ("anna", Array(payload.utf8))
            }
        }

        @Test("SIGHUP rereads the keys; if that fails, the service says so and keeps the old ones")
        func hangup() async throws {
            try await Scene.play(partitions: 1) { scene in
                let (first, second) = (try Keys(), try Keys())
                let folder = try TemporaryFolder()
                let path = try folder.write(first.text, to: "keys.json")
                try #require(chmod(path, 0o644) == 0)
                let service = try scene.start(ServiceConfiguration(stages: ["decrypt: { keys: \(path) }"]))
                func expectDecrypted(_ keys: Keys, _ number: Int) async throws {
                    try await scene.feeder.publish([keys.record(number)])
                    let arrivals = try await scene.outputs.wait(count: number)
                    expect(arrivals.last?.stages, is: "decrypt=ok")
                }
                try await expectDecrypted(first, 1)
                expect(service.lines(with: "is readable by users other than its owner").count, is: 1)

                // The file is unchanged: only the signal makes the service read it.
                service.send(SIGHUP)
                try await service.wait(forLine: "reloaded a file")

                try folder.write("{", to: "keys.json")
                service.send(SIGHUP)
                try await service.wait(forLine: "cannot reload a file: its previous contents stay in use")
                #expect(!service.lines(with: "not a JWK Set: not JSON").isEmpty)
                try await expectDecrypted(first, 2)

                try folder.write(second.text, to: "keys.json")
                service.send(SIGHUP)
                try await service.wait(forLine: "reloaded a file", count: 2)
                #expect(service.lines(with: "a file").allSatisfy { $0.contains(#""stage":"decrypt""#) })
                try await expectDecrypted(second, 3)
                // A message that was on its way when the keys changed.
                try await expectDecrypted(first, 4)
                #expect(service.lines.allSatisfy { !$0.contains("hello") })
            }
        }

        @Test("SIGHUP applies the log level and reports settings that need a restart")
        func configuration() async throws {
            try await Scene.play(partitions: 1) { scene in
                var configuration = ServiceConfiguration()
                configuration.producer.append(("sasl.password", "secret"))
                let service = try scene.start(configuration)
                try await scene.feeder.publish(Event.series(1, keys: 1))
                try await scene.outputs.wait(count: 1)
                configuration.logLevel = "debug"
                configuration.delivery = [("deadline", "7s")]
                configuration.producer[1].value = "another"
                try scene.rewrite(configuration)
                service.send(SIGHUP)
                try await service.wait(forLine: #""Log level changed","setting":"debug""#)
                #expect(try await service.get("/config").contains("level: debug"))
                try await service.wait(forLine: "changed settings take effect after a restart", count: 2)
                let told = service.lines(with: "after a restart")
                #expect(told.contains { $0.contains(#""delivery""#) } && told.contains { $0.contains(#""kafka""#) })
                #expect(told.count == 2 && service.lines.allSatisfy { !$0.contains("another") })
                try scene.rewrite("log: { level: loud }")
                service.send(SIGHUP)
                try await service.wait(forLine: "cannot reload the configuration: the previous one stays in use")
                // No process writes to the pipe: reading it would hold up everything that is read after it.
                try scene.replaceConfigurationByPipe()
                service.send(SIGHUP)
                try await service.wait(forLine: "a pipe can be read only at the start")
                try scene.rewrite(configuration)
                service.send(SIGHUP)
                try await service.wait(forLine: "changed settings take effect after a restart", count: 4)
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }
    }
}
