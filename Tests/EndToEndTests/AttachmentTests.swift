import Glibc
import PushmillTestSupport
import Testing

extension EndToEnd {
    @Suite("Attachments")
    struct AttachmentTests {
        private let media: TemporaryFolder
        private let server: MediaServer

        init() throws {
            media = try TemporaryFolder()
            server = try #require(MediaServer.shared)
        }

        private func configuration(deadline: String, store: String? = nil) -> ServiceConfiguration {
            let options =
                "store: \(store ?? media.path), public-base: https://m.example, allow-hosts: '127.0.0.1:\(server.port)', "
                + "allow-http: true"
            return ServiceConfiguration(delivery: [("deadline", deadline)], stages: ["attachment: { \(options) }"])
        }

        private func payload(_ path: String, note: String = "") -> String {
            #"{"aps":{"mutable-content":1,"alert":"hello\#(note)"},"media-url":"\#(path)"}"#
        }

        private func feed(_ path: String, _ scene: Scene) async throws {
            try await scene.feeder.publish([(key: "anna", value: Array(payload(server.url(path)).utf8))])
        }

        @Test(
            "Media is stored before its notification leaves, ignoring proxies and passwords from the environment",
            arguments: [
                [], ["http_proxy=http://127.0.0.1:1", "ALL_PROXY=http://127.0.0.1:1", "no_proxy=", "NO_PROXY="],
            ])
        func kept(_ environment: [String]) async throws {
            let home = try TemporaryFolder()
            try home.write("machine 127.0.0.1 login somebody password word\n", to: ".netrc")
            try await Scene.play(partitions: 1) { scene in
                var configuration = configuration(deadline: "20s")
                configuration.environment = environment + ["HOME=\(home.path)"]
                let service = try scene.start(configuration)
                let values = try scene.readValues()
                let path = "/fast/kept-\(UInt64.random(in: 0 ... .max)).jpg"
                try await feed(path, scene)
                let value = try await values.wait(count: 1)[0].value
                values.stop()
                let name = try #require(media.names.first)
                expect(value, is: payload("https://m.example/\(name)"))
                expect(media.names.count, is: 1)
                try await expect(scene.outputs.wait(count: 1).map(\.stages), is: ["attachment=ok"])
                let plain: Substring = "\(path) user-agent=pushmill host=127.0.0.1:\(server.port)"
                expect(server.requests(for: path), is: [plain])
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test("A kill during a download leaves no file named as media, and the notification leaves later")
        func killed() async throws {
            try await Scene.play(partitions: 1) { scene in
                let service = try scene.start(configuration(deadline: "60s"))
                let path = "/hang-within/\(UInt64.random(in: 0 ... .max)).jpg"
                try await feed(path, scene)
                try await media.wait { $0.count == 1 }
                service.send(SIGKILL)
                try await service.expectEnd(.signalled(SIGKILL))
                let left = try #require(media.names.first)
                #expect(left.hasPrefix(".partial-"))
                // A partial file this old belongs to no running download.
                try media.setTime(of: left, time(nil) - 3 * 3600)

                let next = try scene.start(configuration(deadline: "1s"))
                let values = try scene.readValues()
                try await media.wait { !$0.contains(left) }
                let value = try await values.wait(count: 1)[0].value
                values.stop()
                expect(value, is: payload(server.url(path), note: " 📷"))
                try await expect(scene.outputs.wait(count: 1).map(\.outcome), is: ["best-attempt"])
                next.send(SIGTERM)
                try await next.expectEnd(.exited(0))
                #expect(media.names.allSatisfy { $0.hasPrefix(".partial-") })
            }
        }

        @Test(
            "On a full disk, notifications leave in time with a note, later with media again",
            .enabled(if: SmallDisk.mayMount))
        func full() async throws {
            let disk = try SmallDisk()
            try disk.fill()
            try await loseAndRegain(disk.folder.path, "its disk is nearly full") {
                expect(disk.folder.names, is: ["ballast"])
                disk.makeRoom()
            }
            expect(disk.folder.names.count, is: 1)
        }

        @Test("Without the media folder, notifications leave in time with a note, later with media again")
        func gone() async throws {
            try await loseAndRegain(media.path, "No such file or directory") { [media] in
                expect(mkdir(media.path, 0o700), is: 0)
            } before: { [media] in
                expect(rmdir(media.path), is: 0)
            }
            expect(media.names.count, is: 1)
        }

        @Test("Metrics tell how much media is kept, how much fits, and what was refused")
        func measured() async throws {
            let service = try ServiceProcess(["run", "--config", configurationFile()])
            try await service.wait(forLine: "the admin endpoint is up")
            let client = try #require(try AdminClient(of: service))
            let path = "{path=\"\(media.path)/kept\"}"
            try await client.wait(for: "the disk to be looked at") { metrics in
                ["bytes\(path) 0.0\n", "limit_bytes\(path) 1000000000.0\n", "refused_total\(path) 0"].allSatisfy {
                    metrics.contains("\npushmill_media_\($0)")
                } && metrics.contains("\npushmill_media_free_bytes\(path) ")
            }
            service.send(SIGTERM)
            try await service.expectEnd(.exited(0))
            try await service.clear()
        }

        /// Of a service whose brokers are unreachable.
        private func configurationFile() throws -> String {
            let stage =
                "attachment: { store: \(media.path)/kept, public-base: https://m.example, allow-hosts: m.example, "
                + "keep-at-most: 1GB }"
            let text = ServiceConfiguration(stages: [stage]).text(
                bootstrapServers: "127.0.0.1:1", group: "g", input: "in", output: "out", deadLetters: "dead")
            return try media.write(text, to: "service.yaml")
        }

        /// Publishes the same event twice: while nothing can be kept for that reason, and after `mend`.
        private func loseAndRegain(
            _ store: String, _ reason: String, mend: @escaping @Sendable () -> Void,
            before: @escaping @Sendable () -> Void = {}
        ) async throws {
            try await Scene.play(partitions: 1) { scene in
                let service = try scene.start(configuration(deadline: "20s", store: store))
                try await service.wait(forLine: "serving partitions")
                before()
                let values = try scene.readValues()
                let path = "/fast/regained-\(UInt64.random(in: 0 ... .max)).jpg?20000"
                let begin = ContinuousClock.now
                try await feed(path, scene)
                try await expect(values.wait(count: 1)[0].value, is: payload(server.url(path), note: " 📷"))
                #expect(begin.duration(to: .now) < .seconds(20))
                try await service.wait(forLine: "cannot keep media: \(store): \(reason)")
                mend()
                try await feed(path, scene)
                let value = try await values.wait(count: 2)[1].value
                values.stop()
                let stages = try await scene.outputs.wait(count: 2).map(\.stages)
                expect(stages, is: ["attachment=failed:storage", "attachment=ok"])
                expect(server.requests(for: path).count, is: 2)
                #expect(value.contains("https://m.example/") && !value.contains("📷"))
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test("A service that cannot create its media folder says so and ends")
        func unusable() async throws {
            try await Scene.play(partitions: 1) { scene in
                let file = try media.write("", to: "file")
                let service = try scene.start(configuration(deadline: "20s", store: "\(file)/store"))
                try await service.expectEnd(.exited(78))
                expect(service.lines(with: "\(file)/store: Not a directory").count, is: 1)
            }
        }
    }
}
