import Glibc
import PushmillPayload
import PushmillStages
import PushmillTelemetry
import PushmillTestSupport
import Synchronization
import Testing

@testable import PushmillMedia

@Suite("The media folder")
struct StoreTests {
    private let server: MediaServer

    init() throws { server = try #require(MediaServer.shared) }

    @Test("A full disk fails the fetch with a log line, and leaves no partial file", .enabled(if: SmallDisk.mayMount))
    func full() async throws {
        let disk = try SmallDisk()
        let shelf = try Shelf(in: disk.folder)
        let url = server.url("/fast/full-\(UInt64.random(in: 0 ... .max)).jpg?2000000")
        try disk.fill()
        await #expect(throws: MediaFailure.storage) { try await shelf.media(url) }
        expect(disk.folder.names, is: ["ballast"])
        let why = "its disk is nearly full: nothing more is kept while less than 1 GB or 5% of it is free"
        expect(shelf.lines, is: ["error: cannot keep media: \(disk.folder.path): \(why)"])
        #expect(shelf.library.figures?.refusals == 1 && shelf.library.figures?.free == 0)
        disk.makeRoom()
        let media = try await shelf.media(url)
        expect(disk.folder.names, is: [media.name])
        try expect(shelf.bytes(of: media).count, is: 2_000_000)
    }

    @Test("Nothing is written to a disk that is below its floor of free space")
    func floor() throws {
        let folder = try TemporaryFolder()
        let available = Atomic<Int>(6_000_000)
        let room = MediaRoom(path: folder.path, capacity: .max) { _ in
            (100_000_000, available.load(ordering: .relaxed))
        }
        let store = try MediaFolder(path: folder.path, room: room)
        let file = try store.begin()
        expect(room.figures.free, is: 1_000_000)
        let bytes = [UInt8](repeating: 0, count: 600_000)
        try bytes.withUnsafeBytes { try file.write($0) }
        available.store(5_000_000, ordering: .relaxed)
        // The disk is asked again after a mebibyte.
        #expect(throws: FileFailure.self) { try bytes.withUnsafeBytes { try file.write($0) } }
        #expect(throws: FileFailure.self) { try store.begin() }
        #expect(room.figures.refusals == 2 && room.figures.free == 0 && room.figures.bytes == 600_000)
        expect(folder.names.count, is: 1)
        available.store(5_000_001, ordering: .relaxed)
        _ = try store.begin()
        // The floor of a large disk is 1 GB.
        let large = MediaRoom(path: folder.path, capacity: .max) { _ in (100_000_000_000, 1_000_000_001) }
        large.askDisk()
        expect(large.figures.free, is: 1)
    }

    @Test("Files still coming in count toward the capacity, and make the oldest media go")
    func comingIn() throws {
        let folder = try TemporaryFolder()
        let store = try MediaFolder(path: folder.path, capacity: 1_000)
        try write(name(0), 300, used: time(nil) - 60, in: folder)
        try write(name(1), 300, used: time(nil), in: folder)
        let bytes = [UInt8](repeating: 0, count: 500)
        do {
            let file = try store.begin()
            try bytes.withUnsafeBytes { try file.write($0) }
            expect(store.tidy(age: .seconds(3600), capacity: 1_000), is: [name(0)])
            expect(store.room.figures.bytes, is: 800)
            // Nor may incoming files alone exceed the capacity.
            let other = try store.begin()
            try bytes.withUnsafeBytes { try other.write($0) }
            #expect(throws: FileFailure.self) { try bytes.withUnsafeBytes { try other.write($0) } }
        }
        expect(store.room.figures.bytes, is: 300)
        expect(folder.names, is: [name(1)])
    }

    @Test("Bytes that come in during a count contribute to triggering the next count")
    func comingInMeanwhile() throws {
        let room = MediaRoom(path: "/", capacity: 5_000) { _ in nil }
        let told = Atomic<Int>(0)
        room.watch { told.wrappingAdd(1, ordering: .relaxed) }
        try room.take(100)
        expect(told.load(ordering: .relaxed), is: 1)
        room.beginCount()
        try room.take(60)
        room.counted(0)
        try room.take(40)
        expect(told.load(ordering: .relaxed), is: 2)
    }

    @Test("Media that is stored again is counted once")
    func again() throws {
        let folder = try TemporaryFolder()
        let store = try MediaFolder(path: folder.path)
        let bytes = [UInt8](repeating: 0, count: 300)
        for number in [0, 0, 1] {
            let file = try store.begin()
            try bytes.withUnsafeBytes { try file.write($0) }
            try file.name(name(number))
        }
        expect(folder.names, is: [name(0), name(1)])
        expect(store.room.figures.bytes, is: 600)
    }

    @Test("Folders made for media are accessible to their owner alone, whatever the process's umask")
    func modes() throws {
        let folder = try TemporaryFolder()
        let store = try withoutFileMask { try MediaFolder(path: "\(folder.path)/var/media") }
        try expect(folder.mode(of: "var"), is: 0o700)
        try expect(folder.mode(of: "var/media"), is: 0o700)
        // Others may read its files, if an operator has made the folder accessible to them.
        let file = try withoutFileMask { try store.begin() }
        try file.name("whole")
        try expect(folder.mode(of: "var/media/whole"), is: 0o644)
    }

    @Test("A missing folder is an error until it exists again")
    func missing() async throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/media"
        let shelf = try Shelf({ $0.folder = path })
        let url = server.url("/fast/missing-\(UInt64.random(in: 0 ... .max)).jpg")
        try #require(rmdir(path) == 0)
        await #expect(throws: MediaFailure.storage) { try await shelf.media(url) }
        expect(shelf.lines, is: ["error: cannot keep media: \(path): No such file or directory"])
        try #require(mkdir(path, 0o700) == 0)
        let media = try await shelf.media(url)
        expect(unlink("\(path)/\(media.name)"), is: 0)
        rmdir(path)
    }

    @Test("A library does not start if its folder cannot be made")
    func unusable() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("", to: "file")
        #expect(throws: FileFailure(path: "\(file)/media", what: "Not a directory")) {
            try Shelf({ $0.folder = "\(file)/media" })
        }
    }

    @Test("A file is named only once it is whole, and is removed if it is given up")
    func partial() throws {
        let folder = try TemporaryFolder()
        let store = try MediaFolder(path: folder.path)
        do {
            let file = try store.begin()
            try Array("half".utf8).withUnsafeBytes { try file.write($0) }
            expect(folder.names.count, is: 1)
            #expect(folder.names.allSatisfy { $0.hasPrefix(".partial-") })
        }
        expect(folder.names, is: [])
        try store.begin().name("whole")
        expect(folder.names, is: ["whole"])
    }

    @Test("The folder opens no more files than its limit, including those that wait for the disk")
    func room() throws {
        let folder = try TemporaryFolder()
        let store = try MediaFolder(path: folder.path, files: 2)
        do {
            let first = try store.begin()
            for _ in 0..<3 { _ = try store.begin() }
            let second = try store.begin()
            for _ in 0..<3 {
                #expect(throws: FileFailure(path: folder.path, EMFILE)) { try store.begin() }
            }
            try first.name("first")
            try second.name("second")
        }
        expect(Set(folder.names), is: ["first", "second"])
        for _ in 0..<3 { _ = try store.begin() }
    }

    /// A name of media that consists of the digit.
    private func name(_ digit: Int) -> String { String(repeating: "\(digit)", count: 64) + ".png" }

    private func write(_ name: String, _ size: Int, used: Int, in folder: TemporaryFolder) throws {
        try folder.write(String(repeating: "x", count: size), to: name)
        try folder.setTime(of: name, used)
    }

    @Test("Tidying removes old media and partial files, then the least recently used, and nothing else")
    func tidy() throws {
        let folder = try TemporaryFolder()
        let store = try MediaFolder(path: folder.path)
        let now = 1_000_000
        for number in 0..<6 { try write(name(number), 100, used: now - number * 100, in: folder) }
        try write("foreign.png", 1000, used: 0, in: folder)
        try write(String(repeating: "A", count: 64) + ".png", 1000, used: 0, in: folder)
        try write(".partial-new", 1000, used: now - 7000, in: folder)
        try write(".partial-old", 1000, used: now - 7300, in: folder)
        expect(store.tidy(age: .seconds(450), capacity: 1_000_000, now: now), is: [name(5)])
        // The file that is coming in takes 1000 bytes of the capacity.
        expect(store.tidy(age: .seconds(450), capacity: 1250, now: now), is: [name(2), name(3), name(4)])
        expect(
            Set(folder.names),
            is: [
                name(0), name(1), "foreign.png", String(repeating: "A", count: 64) + ".png", ".partial-new",
            ])
    }

    @Test("A new library removes partial files of a process that died")
    func begun() async throws {
        let folder = try TemporaryFolder()
        try write(".partial-dead", 100, used: time(nil) - 3 * 3600, in: folder)
        try write(".partial-coming", 100, used: time(nil), in: folder)
        let shelf = try Shelf(in: folder)
        try await folder.wait { $0 == [".partial-coming"] }
        withExtendedLifetime(shelf) {}
    }

    @Test("A folder that cannot be read is not taken for an empty one")
    func unreadable() throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/media"
        let store = try MediaFolder(path: path)
        try write("media/\(name(0))", 300, used: time(nil), in: folder)
        _ = store.tidy(age: .seconds(3600), capacity: 1_000)
        try #require(rename(path, "\(path)-away") == 0)
        expect(store.tidy(age: .seconds(3600), capacity: 1_000), is: [])
        expect(store.room.figures.bytes, is: 300)
    }

    @Test("Files dated in the future age from when they are first seen")
    func ahead() throws {
        let folder = try TemporaryFolder()
        let store = try MediaFolder(path: folder.path)
        let now = 1_000_000
        try write(name(0), 100, used: now + 1_000_000, in: folder)
        try write(".partial-0", 100, used: now + 1_000_000, in: folder)
        expect(store.tidy(age: .seconds(10_000), capacity: 1_000, now: now), is: [])
        expect(store.tidy(age: .seconds(10_000), capacity: 1_000, now: now + 10_000), is: [])
        expect(folder.names, is: [name(0)])
        expect(store.tidy(age: .seconds(10_000), capacity: 1_000, now: now + 10_001), is: [name(0)])
    }

    @Test("Files dated in the future are removed at once if they exceed the capacity")
    func aheadOfCapacity() throws {
        let folder = try TemporaryFolder()
        let store = try MediaFolder(path: folder.path)
        let now = 1_000_000
        for number in 0..<2 { try write(name(number), 300, used: now + 1_000_000, in: folder) }
        expect(store.tidy(age: .seconds(10_000), capacity: 300, now: now).count, is: 1)
        expect(folder.names.count, is: 1)
    }

    @Test("Files with absurd times and sizes do no harm", .enabled(if: SmallDisk.mayMount))
    func absurd() throws {
        let disk = try SmallDisk()
        let store = try MediaFolder(path: disk.folder.path)
        try write(name(0), 1, used: .min, in: disk.folder)
        for huge in [name(1), ".partial-0", ".partial-1"] {
            let path = try disk.folder.write("", to: huge)
            try #require(truncate(path, .max) == 0)
        }
        expect(store.tidy(age: .seconds(3600), capacity: 1_000), is: [name(0), name(1)])
        expect(disk.folder.names, is: [".partial-0", ".partial-1"])
    }

    @Test("A file that was used or replaced since it was listed is not removed")
    func used() throws {
        let folder = try TemporaryFolder()
        let store = try MediaFolder(path: folder.path)
        for number in 0..<3 { try write(name(number), 100, used: 1000, in: folder) }
        let all = try #require(store.entries())
        let listed = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
        let entries = try (0..<3).map { try #require(listed[name($0)]) }
        try #require(utimensat(AT_FDCWD, "\(folder.path)/\(name(0))", nil, 0) == 0)
        try store.begin().name(name(1))
        expect(entries.map(store.remove), is: [false, false, true])
        expect(folder.names, is: [name(0), name(1)])
        #expect(store.remove(entries[2]))
    }

    @Test("Excess media goes at the start, new media displaces old, and both removals are reported")
    func care() async throws {
        let folder = try TemporaryFolder()
        let store = try MediaFolder(path: folder.path, capacity: 150)
        try write(name(0), 100, used: time(nil) - 60, in: folder)
        try write(name(1), 100, used: time(nil) - 30, in: folder)
        var settings = MediaSettings.sample(folder.path)
        settings.capacity = 150
        let (gone, continuation) = AsyncStream.makeStream(of: Set<String>.self)
        store.care(settings) { continuation.yield($0) }
        await expect(gone.first { _ in true }, is: [name(0)])
        try write(name(2), 100, used: time(nil), in: folder)
        let file = try store.begin()
        try [0, 0, 0].withUnsafeBytes { try file.write($0) }
        await expect(gone.first { _ in true }, is: [name(1)])
        #expect(folder.names.contains(name(2)) && !folder.names.contains(name(1)))
    }

    @Test("Media that the folder has lost is noticed at its next use, and fetched again")
    func lost() async throws {
        let folder = try TemporaryFolder()
        let store = try MediaFolder(path: folder.path)
        let requests = Requests()
        let media = try #require(Media(name: name(0)))
        /// The fetch to be started for the URL; nil if its media is known.
        func join() -> Fetch? { requests.join("u", as: 0, until: .never, now: .past) { _ in } }
        requests.end(try #require(join()), .success(media), now: .past)
        try write(media.name, 100, used: 1000, in: folder)
        // The folder handles touches in order: the one that resumes comes last.
        func touch(_ lost: Media) async {
            await withCheckedContinuation { continuation in
                store.touch(media) { requests.forget([media.name]) }
                store.touch(lost) { continuation.resume() }
            }
        }
        await touch(try #require(Media(name: name(1))))
        #expect(join() === nil)
        let entries = try #require(store.entries())
        #expect(entries.allSatisfy { $0.used > 1000 })
        folder.delete(media.name)
        await touch(media)
        #expect(join() !== nil)
    }
}
