import Glibc
import TestSupport
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

        private func configuration(deadline: String) -> ServiceConfiguration {
            let options =
                "store: \(media.path), public-base: https://m.example, allow-hosts: 127.0.0.1, allow-http: true"
            return ServiceConfiguration(delivery: [("deadline", deadline)], stages: ["attachment: { \(options) }"])
        }

        private func payload(_ path: String, note: String = "") -> String {
            #"{"aps":{"mutable-content":1,"alert":"hello\#(note)"},"media-url":"\#(path)"}"#
        }

        private func feed(_ path: String, _ scene: Scene) async throws {
            try await scene.feeder.publish([(key: "anna", value: Array(payload(server.url(path)).utf8))])
        }

        @Test("Media is kept before its notification leaves")
        func kept() async throws {
            try await Scene.play(partitions: 1) { scene in
                let service = try scene.start(configuration(deadline: "20s"))
                let values = try scene.readValues()
                try await feed("/fast/kept.jpg", scene)
                let value = try await values.wait(count: 1)[0].value
                values.stop()
                let name = try #require(media.names.first)
                #expect(value == payload("https://m.example/\(name)"))
                #expect(media.names.count == 1)
                #expect(try await scene.outputs.wait(count: 1).map(\.stages) == ["attachment=ok"])
                service.send(SIGTERM)
                try await service.expectEnd(.exited(0))
            }
        }

        @Test("A kill in the middle of a file leaves nothing that is named as media, and the notification leaves later")
        func killed() async throws {
            try await Scene.play(partitions: 1) { scene in
                let service = try scene.start(configuration(deadline: "60s"))
                let path = "/hang-within/\(UInt64.random(in: 0 ... .max)).jpg"
                try await feed(path, scene)
                try await media.wait { $0.count == 1 }
                service.send(SIGKILL)
                try await service.expectEnd(.signalled(SIGKILL))
                #expect(media.names.allSatisfy { $0.hasPrefix(".partial-") })

                let next = try scene.start(configuration(deadline: "1s"))
                let values = try scene.readValues()
                let value = try await values.wait(count: 1)[0].value
                values.stop()
                #expect(value == payload(server.url(path), note: " 📷"))
                #expect(try await scene.outputs.wait(count: 1).map(\.outcome) == ["best-attempt"])
                next.send(SIGTERM)
                try await next.expectEnd(.exited(0))
                #expect(media.names.allSatisfy { $0.hasPrefix(".partial-") })
            }
        }
    }
}
