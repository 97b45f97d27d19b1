import Glibc
import PushmillKafka
import PushmillPayload
import PushmillTestSupport
import Testing

@testable import PushmillTelemetry

extension EndToEnd {
    @Suite("Whether a service is ready")
    struct ReadinessTests {
        @Test("A service is alive at once, ready after joining, and its lag drops to zero")
        func readiness() async throws {
            try await Scene.play(partitions: 2) { scene in
                // LEADER_NOT_AVAILABLE: keeps the service from joining until the test has asked it.
                scene.brokers.mock?.setTopicError(scene.input, code: 5)
                let service = try scene.start()
                try await service.wait(forLine: "the admin endpoint is up")
                let client = try #require(try AdminClient(of: service))
                let early = try await elsewhere { (try client.ask("/healthz"), try client.ask("/readyz")) }
                #expect(early.0.contains(" 200 OK"))
                #expect(early.1.contains(" 503 ") && early.1.contains(/"reason":"(starting|not-joined)"/))
                scene.brokers.mock?.setTopicError(scene.input, code: 0)
                try await service.wait(forPartitionsRead: 2)
                try await client.wait(for: "ready", at: "/readyz") { $0.contains(" 200 OK") }
                try await scene.feeder.publish(Event.series(100, keys: 10))
                try await scene.outputs.wait(count: 100)
                for partition in 0..<2 {
                    let series = "pushmill_consumer_lag_records{topic=\"\(scene.input)\",partition=\"\(partition)\"}"
                    try await client.wait(for: "no lag of \(partition)") { $0.contains("\n\(series) 0.0\n") }
                }
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test("An instance reports no lag of a partition that another instance has taken over")
        func revoked() async throws {
            try await Scene.play(partitions: 2) { scene in
                // Each shard is a member of the group: with more members than partitions, none would move.
                let first = try scene.start(ServiceConfiguration(cores: 1))
                try await first.wait(forLine: "serving partitions")
                let client = try #require(try AdminClient(of: first))
                @Sendable func partitions(_ metrics: String) -> Int {
                    metrics.matches(of: /\npushmill_consumer_lag_records\{/).count
                }
                try await scene.feeder.publish(Event.series(20, keys: 10))
                try await client.wait(for: "two partitions") { partitions($0) == 2 }
                let second = try scene.start(ServiceConfiguration(cores: 1))
                try await second.wait(forLine: "serving partitions")
                try await client.wait(for: "one partition") { partitions($0) == 1 }
            }
        }

        @Test("At the descriptor limit, a probe is answered once an earlier connection has ended")
        func descriptors() async throws {
            try await Scene.play(partitions: 1) { scene in
                let service = try scene.start(ServiceConfiguration(cores: 1))
                try await service.wait(forPartitionsRead: 1)
                let address = try ListenAddress(try #require(AdminClient.address(of: service)))
                let former = try Connection(address)
                #expect(try await former.probe().hasPrefix("HTTP/1.1 200 "))
                try await service.limitDescriptors(4)
                let probe = try Connection(address)
                // By the time of this answer, the endpoint has found that it can accept no other connection.
                #expect(try await former.probe().hasPrefix("HTTP/1.1 200 "))
                try await service.limitDescriptors(512)
                former.shut()
                #expect(try await probe.probe().hasPrefix("HTTP/1.1 200 "))
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test("Without a free descriptor, the admin endpoint waits for one without spinning")
        func noDescriptor() async throws {
            try await Scene.play(partitions: 1) { scene in
                let service = try scene.start(ServiceConfiguration(cores: 1))
                try await service.wait(forPartitionsRead: 1)
                let address = try ListenAddress(try #require(AdminClient.address(of: service)))
                let process = service.identifier
                try await service.limitDescriptors(4)
                let probe = try Connection(address)
                // A thread that spins does not sleep at all.
                let before = try #require(Self.sleeps(of: "admin", in: process))
                try await elsewhere {
                    let limit = Duration.seconds(30)
                    let end = ContinuousClock.now + limit
                    while Self.sleeps(of: "admin", in: process) ?? 0 < before + 5 {
                        guard .now < end else { throw Overdue(what: "the endpoint to sleep", limit: limit) }
                        usleep(10_000)
                    }
                }
                try await service.limitDescriptors(512)
                #expect(try await probe.probe().hasPrefix("HTTP/1.1 200 "))
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        /// How often the thread of that name has slept.
        private static func sleeps(of thread: String, in process: pid_t) -> Int? {
            func text(_ path: String) -> String? {
                (try? FileBytes(path: path)).map { String(decoding: $0.bytes, as: UTF8.self) }
            }
            // Threads have the next numbers after their process's.
            for number in process..<process + 1_000 {
                let task = "/proc/\(process)/task/\(number)"
                guard text("\(task)/comm") == "\(thread)\n", let status = text("\(task)/status") else { continue }
                return (status.firstMatch(of: /\nvoluntary_ctxt_switches:\t([0-9]+)/)?.output.1).flatMap { Int($0) }
            }
            return nil
        }

        /// A connection to the admin endpoint that stays open.
        private final class Connection: Sendable {
            private let descriptor: Int32

            init(_ address: ListenAddress) throws {
                descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
                // A test that waits in vain fails after 30 s.
                var limit = timeval(tv_sec: 30, tv_usec: 0)
                setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
                let connected = address.withSocketAddress { [descriptor] in connect(descriptor, $0, $1) }
                guard connected == 0 else { throw SystemFailure(errno) }
            }

            deinit { close(descriptor) }

            func shut() { shutdown(descriptor, Int32(SHUT_RDWR)) }

            /// The answer, or as much of it as comes.
            func probe() async throws -> String {
                try await elsewhere { [descriptor] in
                    let request = Array("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
                    _ = send(descriptor, request, request.count, Int32(MSG_NOSIGNAL))
                    var answer = ""
                    var buffer = [UInt8](repeating: 0, count: 4096)
                    while !answer.hasSuffix("}\n") {
                        let count = recv(descriptor, &buffer, buffer.count, 0)
                        guard count > 0 else { break }
                        answer += String(decoding: buffer.prefix(count), as: UTF8.self)
                    }
                    return answer
                }
            }
        }
    }
}
