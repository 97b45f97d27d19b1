import Glibc
import Push
import TestSupport
import Testing

@testable import Media

@Suite("The folder")
struct StoreTests {
    private let server: MediaServer

    init() throws { server = try #require(MediaServer.shared) }

    @Test("A full disk fails the fetch, says so in the log, and leaves nothing half", .enabled(if: SmallDisk.mayMount))
    func full() async throws {
        let disk = try SmallDisk()
        let shelf = try Shelf(in: disk.folder)
        let url = server.url("/fast/full-\(UInt64.random(in: 0 ... .max)).jpg?2000000")
        try disk.fill()
        await #expect(throws: MediaFailure.storage) { try await shelf.media(url) }
        #expect(disk.folder.names == ["ballast"])
        #expect(shelf.lines == ["error: media cannot be kept: \(disk.folder.path): No space left on device"])
        disk.makeRoom()
        let media = try await shelf.media(url)
        #expect(disk.folder.names == [media.name])
        #expect(try shelf.bytes(of: media).count == 2_000_000)
    }

    @Test("A folder that goes is an error until it is there again")
    func missing() async throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/media"
        let shelf = try Shelf({ $0.folder = path })
        let url = server.url("/fast/missing-\(UInt64.random(in: 0 ... .max)).jpg")
        try #require(rmdir(path) == 0)
        await #expect(throws: MediaFailure.storage) { try await shelf.media(url) }
        #expect(shelf.lines == ["error: media cannot be kept: \(path): No such file or directory"])
        try #require(mkdir(path, 0o700) == 0)
        let media = try await shelf.media(url)
        #expect(unlink("\(path)/\(media.name)") == 0)
        rmdir(path)
    }

    @Test("A folder that cannot be made keeps the service from starting")
    func unusable() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("", to: "file")
        #expect(throws: FileFailure(path: "\(file)/media", what: "Not a directory")) {
            try Shelf({ $0.folder = "\(file)/media" })
        }
    }

    @Test("A file has no name of its own before it is whole, and none when it is given up")
    func partial() throws {
        let folder = try TemporaryFolder()
        do {
            let file = try PartialFile(in: folder.path)
            try Array("half".utf8).withUnsafeBytes { try file.write($0) }
            #expect(folder.names.count == 1)
            #expect(folder.names.allSatisfy { $0.hasPrefix(".partial-") })
        }
        #expect(folder.names == [])
        try PartialFile(in: folder.path).name("whole")
        #expect(folder.names == ["whole"])
    }

    /// A name of media, by its first digit.
    private func name(_ digit: Int) -> String { String(repeating: "\(digit)", count: 64) + ".png" }

    private func write(_ name: String, _ size: Int, used: Int, in folder: TemporaryFolder) throws {
        let path = try folder.write(String(repeating: "x", count: size), to: name)
        var times = [timespec(tv_sec: used, tv_nsec: 0), timespec(tv_sec: used, tv_nsec: 0)]
        try #require(utimensat(AT_FDCWD, path, &times, 0) == 0)
    }

    @Test("What was not used for long goes, then what was not used for the longest; nothing else does")
    func tidy() throws {
        let folder = try TemporaryFolder()
        let store = try MediaFolder(path: folder.path)
        let now = 1_000_000
        for number in 0..<6 { try write(name(number), 100, used: now - number * 100, in: folder) }
        try write("foreign.png", 1000, used: 0, in: folder)
        try write(String(repeating: "A", count: 64) + ".png", 1000, used: 0, in: folder)
        try write(".partial-new", 1000, used: now - 7000, in: folder)
        try write(".partial-old", 1000, used: now - 7300, in: folder)
        #expect(store.tidy(age: .seconds(450), capacity: 1_000_000, now: now) == [name(5)])
        #expect(store.tidy(age: .seconds(450), capacity: 250, now: now) == [name(2), name(3), name(4)])
        #expect(
            Set(folder.names) == [
                name(0), name(1), "foreign.png", String(repeating: "A", count: 64) + ".png", ".partial-new",
            ])
    }

    @Test("What the folder has lost is fetched again")
    func lost() async throws {
        let shelf = try Shelf()
        let path = "/fast/lost-\(UInt64.random(in: 0 ... .max)).jpg"
        let media = try await shelf.media(server.url(path))
        _ = try await shelf.media(server.url(path))
        #expect(server.requests(for: path).count == 1)
        shelf.library.forget([media.name])
        _ = try await shelf.media(server.url(path))
        #expect(server.requests(for: path).count == 2)
    }
}
