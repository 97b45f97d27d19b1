import Glibc
import PushmillPayload
import PushmillStages
import PushmillTestSupport
import Synchronization
import Testing

@testable import PushmillMedia

/// A library for tests, which may reach this machine, with its folder and the server it fetches from.
final class Shelf: Sendable {
    let folder: TemporaryFolder
    let library: MediaLibrary
    let server: MediaServer
    private let told: Told

    final class Told: Sendable {
        let lines = Mutex<[String]>([])
    }

    init(
        _ change: (inout MediaSettings) -> Void = { _ in }, reach change2: (inout Reach) -> Void = { _ in },
        in folder: TemporaryFolder? = nil, keeps: Bool = true
    ) throws {
        server = try #require(MediaServer.shared)
        let folder = try folder ?? TemporaryFolder()
        self.folder = folder
        var settings = MediaSettings.sample(folder.path)
        change(&settings)
        var reach = Reach()
        reach.admits = { _ in true }
        change2(&reach)
        let told = Told()
        self.told = told
        library = try MediaLibrary(settings, keeps: keeps, reach: reach) { severity, line in
            told.lines.withLock { $0.append("\(severity): \(line)") }
        }
    }

    /// What the library has written to the log.
    var lines: [String] { told.lines.withLock { $0 } }

    func media(_ url: String, for patience: Duration = .seconds(30)) async throws(MediaFailure) -> Media {
        try await library.media(at: url, until: TimeSource.system.now + patience)
    }

    /// Lets the server go on with a path that it holds.
    func release(_ path: String) async {
        await #expect(throws: MediaFailure.status) { try await media(server.url("/release\(path)")) }
    }

    func bytes(of media: Media) throws -> [UInt8] { try FileBytes(path: "\(folder.path)/\(media.name)").bytes }

    /// Everything in the folder.
    var names: [String] { folder.names }
}

extension MediaSettings {
    static func sample(_ folder: String) -> MediaSettings {
        var settings = MediaSettings(
            MediaMembers(url: JSONPointer(member: "media-url")), folder: folder,
            hosts: [])
        settings.allow(["127.0.0.1", "localhost", "[::1]"], at: MediaServer.shared)
        settings.allowsHTTP = true
        return settings
    }

    /// Allows these hosts, with the port of the server.
    mutating func allow(_ names: [String], at server: MediaServer?) {
        hosts += names.compactMap { HostPattern("\($0):\(server?.port ?? 0)") }
    }
}
