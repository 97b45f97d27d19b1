import Glibc
import PushmillTestSupport
import Testing

@testable import PushmillStores

@Suite("The file behind a partition's counts")
struct CountFileTests {
    let temporary: TemporaryFolder
    let path: String

    init() throws {
        temporary = try TemporaryFolder()
        path = "\(temporary.path)/counts"
    }

    private func folder(cluster: String = "c", changelog: String = "badges") throws -> CountFolder {
        try CountFolder(path: path, cluster: cluster, changelog: changelog)
    }

    private func open(cluster: String = "c", changelog: String = "badges", partition: Int32 = 3) throws -> CountFile {
        try folder(cluster: cluster, changelog: changelog).open(topic: "events", partition: partition)
    }

    private func read(_ file: CountFile, _ numbers: ClosedRange<UInt64>) -> [UInt64: CountState]? {
        var found: [UInt64: CountState] = [:]
        let isRead = file.read(numbers.map { AccountHash(high: $0 << 60, low: $0) }) { found[$0.low] = $1 }
        return isRead ? found : nil
    }

    private func rows(_ counts: [(UInt64, CountState)]) -> [(account: AccountHash, state: CountState)] {
        counts.map { (account: AccountHash(high: $0 << 60, low: $0), state: $1) }
    }

    private func position(_ offset: Int64) -> RecordPosition {
        RecordPosition(partition: 3, offset: offset, timestamp: 1_700_000_000_000)
    }

    private let one = CountState(count: 3, incarnation: 2, offset: 120_045)
    private let two = CountState(count: .max, incarnation: 0, offset: CountState.highestOffset)

    @Test("A reopened file has its counts, position and highest state, and none of another partition's")
    func reopening() throws {
        do {
            let file = try open()
            #expect(file.position == nil && file.highest == nil && read(file, 1...3) == [:])
            #expect(file.write(rows([(1, one), (2, two)]), at: position(9)))
            #expect(file.write(rows([(2, CountState(count: 0))]), at: nil))
            expect(file.takeNews(), is: [])
        }
        let file = try open()
        #expect(file.position == position(9) && file.highest == one)
        expect(read(file, 1...3), is: [1: one, 2: CountState(count: 0)])
        expect(read(try open(partition: 4), 1...3), is: [:])
        #expect(file.clear())
        #expect(file.position == nil && file.highest == nil && read(file, 1...3) == [:])
        #expect(file.write(rows([(3, one)]), at: position(1)) && read(file, 1...3) == [3: one])
    }

    @Test("A file locked by another connection is written later: messages do not wait for it", .timeLimit(.minutes(1)))
    func held() throws {
        let file = try open()
        #expect(file.write(rows([(1, one)]), at: position(9)))
        let other = try Database.open(path: file.path)
        let clock = ContinuousClock()
        try other.transaction { () throws(StoreError) in
            var isWritten = true
            #expect(clock.measure { isWritten = file.write(rows([(2, two)]), at: position(10)) } < .seconds(5))
            #expect(!isWritten)
            expect(read(file, 1...2), is: [1: one])
        }
        #expect(file.write(rows([(2, two)]), at: position(10)))
        expect(read(file, 1...2), is: [1: one, 2: two])
    }

    @Test("A later opening takes a file over, and the earlier owner writes nothing more")
    func owners() throws {
        let earlier = try open()
        #expect(earlier.write(rows([(1, one)]), at: position(1)))
        let later = try open()
        #expect(!earlier.write(rows([(1, two)]), at: position(2)))
        expect(earlier.position, is: position(1))
        expect(earlier.takeNews(), is: [.taken])
        #expect(read(later, 1...2) == [1: one] && later.position == position(1))
        #expect(later.write(rows([(1, two)]), at: position(2)))
        #expect(!earlier.clear() && earlier.isTaken && !later.isTaken)
        expect(read(try open(), 1...2), is: [1: two])
    }

    @Test("If two owners find no file, one makes it, and the other's reopening takes it over")
    func makers() throws {
        let (first, second) = (try open(), try open())
        #expect(second.write(rows([(1, one)]), at: position(1)) && !second.isTaken)
        #expect(!first.write(rows([(2, two)]), at: position(2)) && first.isTaken && first.position == nil)
        #expect(read(first, 1...2) == [:] && read(second, 1...2) == [1: one])
        let again = try open()
        #expect(again.write(rows([(2, two)]), at: position(2)) && read(again, 1...2) == [1: one, 2: two])
        #expect(!second.write(rows([(1, two)]), at: position(3)) && second.isTaken)
    }

    @Test("Closing a file that was removed leaves the log of its successor alone")
    func removed() throws {
        var earlier: CountFile? = try open()
        expect(earlier?.write(rows([(1, one)]), at: position(1)), is: true)
        let later = try open()
        #expect(later.clear() && later.write(rows([(2, two)]), at: position(2)))
        earlier = nil
        expect(read(try open(), 1...2), is: [2: two])
    }

    @Test("Making a file makes its folder again if that was removed")
    func removedFolder() throws {
        let file = try open()
        try #require(rmdir(path) == 0)
        #expect(file.write(rows([(1, one)]), at: position(1)))
        expect(file.takeNews(), is: [])
        try expect(temporary.mode(of: "counts"), is: 0o700)
        expect(read(try open(), 1...2), is: [1: one])
    }

    @Test("A file of another cluster or changelog is set aside, and the last two are kept")
    func foreign() throws {
        func fill(_ file: CountFile) -> Bool { file.write(rows([(1, one)]), at: position(1)) }
        #expect(fill(try open()))
        for (cluster, changelog, what) in [
            ("d", "badges", "badges at the cluster c, not to events-3 by badges at the cluster d"),
            ("d", "other", "badges at the cluster d, not to events-3 by other at the cluster d"),
            ("e", "other", "other at the cluster d, not to events-3 by other at the cluster e"),
        ] {
            let file = try open(cluster: cluster, changelog: changelog)
            let news = file.takeNews()
            guard case .setAside(let aside, let reason) = news.first, news.count == 1 else {
                Issue.record("\(news)")
                return
            }
            #expect(reason.hasSuffix("damaged: belongs to events-3 by \(what)") && access(aside, F_OK) == 0)
            #expect(file.position == nil && read(file, 1...1) == [:] && fill(file))
        }
        try expect(names(in: path).filter { $0.contains("aside") && !$0.contains("-wal") }.count, is: 2)
    }

    @Test("A file of another version, or that is not a database, is set aside", arguments: [true, false])
    func unreadable(isDatabase: Bool) throws {
        let file = "\(path)/events-3.sqlite"
        if isDatabase {
            #expect(try open().write(rows([(1, one)]), at: position(1)))
            try Database.open(path: file).execute("PRAGMA user_version=7")
        } else {
            _ = try folder()
            try temporary.write(Array(repeating: 7, count: 20_000), to: "counts/events-3.sqlite")
        }
        let opened = try open()
        guard case .setAside = opened.takeNews().first else { throw CancellationError() }
        #expect(opened.position == nil && read(opened, 1...1) == [:])
        #expect(opened.write(rows([(1, two)]), at: position(1)) && read(opened, 1...1) == [1: two])
    }

    @Test("A file that is damaged while in use answers nothing until it is cleared")
    func damage() throws {
        let many = (0..<20_000 as Range<UInt64>).map { ($0, one) }
        let accounts = many.map { (account: AccountHash(high: $0.0 << 40, low: $0.0), state: $0.1) }
        do {
            let file = try open()
            #expect(file.write(accounts, at: position(1)))
        }
        let file = try open()
        let descriptor = Glibc.open("\(path)/events-3.sqlite", O_WRONLY)
        let noise = [UInt8](repeating: 0xee, count: 400_000)
        expect(pwrite(descriptor, noise, noise.count, 8192), is: noise.count)
        close(descriptor)
        #expect(!file.read(accounts.map(\.account)) { _, _ in })
        #expect(read(file, 1...1) == nil && !file.write(rows([(1, one)]), at: position(2)))
        #expect(file.clear() && read(file, 0...3) == [:] && file.position == nil)
        #expect(try names(in: path).contains("events-3.sqlite.aside-1"))
    }

    @Test("A file that cannot be opened is not removed, and is used once it opens")
    func unopened() throws {
        _ = try folder()
        try temporary.makeFolder("counts/events-3.sqlite")
        let file = try open()
        #expect(file.position == nil && read(file, 1...1) == nil)
        guard case .failed = file.takeNews().first else { throw CancellationError() }
        rmdir("\(path)/events-3.sqlite")
        #expect(read(file, 1...1) == nil && !file.write(rows([(1, one)]), at: position(1)) && !file.clear())
        let again = try open()
        #expect(read(again, 1...1) == [:] && again.write(rows([(1, one)]), at: position(1)))
    }

    @Test(
        "A file that a full disk keeps from opening is dropped, and later remade",
        .enabled(if: SmallDisk.mayMount), arguments: [true, false])
    func fullDisk(isClosed: Bool) throws {
        let disk = try SmallDisk()
        func open() throws -> CountFile {
            try CountFolder(path: "\(disk.folder.path)/counts", cluster: "c", changelog: "badges")
                .open(topic: "events", partition: 3)
        }
        var former: CountFile? = try open()
        expect(former?.write(rows([(1, one)]), at: position(9)), is: true)
        // The last connection that closes removes the log and its index.
        if isClosed { former = nil }
        try disk.fill()
        let file = try open()
        guard case .failed(let error) = file.takeNews().first else { throw CancellationError() }
        #expect(error.isLack)
        #expect(file.position == nil && file.highest == nil && read(file, 1...1) == [:])
        disk.makeRoom()
        #expect(file.write(rows([(1, two)]), at: position(10)) && read(file, 1...1) == [1: two])
        try expect(open().position, is: position(10))
        withExtendedLifetime(former) {}
    }

    @Test("A file for which no descriptor is left is dropped, and later remade")
    func descriptors() throws {
        #expect(try open(partition: 1).write(rows([(1, one)]), at: position(9)))
        let folder = try CountFolder(path: path, cluster: "c", changelog: "badges", mostConnections: 1)
        var first: CountFile? = folder.open(topic: "events", partition: 0)
        expect(first?.write(rows([(2, two)]), at: position(1)), is: true)
        let second = folder.open(topic: "events", partition: 1)
        let failure = CountFile.News.failed(.unopened(path: "\(path)/events-1.sqlite", error: EMFILE))
        expect(second.takeNews(), is: [failure])
        #expect(second.position == nil && read(second, 1...1) == [:])
        #expect(!second.write(rows([(1, two)]), at: position(10)) && !second.isTaken)
        #expect(read(second, 1...1) == [:] && second.takeNews() == [failure])
        first = nil
        #expect(second.write(rows([(1, two)]), at: position(10)) && read(second, 1...1) == [1: two])
        #expect(second.clear() && folder.open(topic: "events", partition: 0).position == position(1))
    }

    @Test("A file keeps its secret while it exists, and its opener keeps that even beyond")
    func secret() throws {
        let file = try open()
        #expect(try open().secret != file.secret)
        #expect(file.write([], at: position(1)))
        #expect(try open(partition: 4).secret != file.secret)
        let later = try open()
        #expect(later.secret == file.secret && later.position == position(1) && later.highest == nil)
        #expect(later.clear() && later.write(rows([(1, one)]), at: nil))
        let last = try open()
        #expect(last.secret == file.secret && last.position == nil && last.highest == one)
        #expect(try open(cluster: "d").secret != file.secret)
        var status = stat()
        #expect(stat("\(path)/events-3.sqlite", &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test("File names are valid and distinct for any topic name")
    func fileNames() {
        expect(CountFolder.fileName("events.v1_x-2", 7), is: "events.v1_x-2-7.sqlite")
        let odd = ["a/b%é", "ab", "../ab", "a/b%è"].map { CountFolder.fileName($0, 0) }
        #expect(Set(odd).count == 4 && odd.allSatisfy { $0.utf8.count < 230 && !$0.contains("/") })
        let long = (0..<2).map { CountFolder.fileName(String(repeating: "a", count: 248) + "\($0)", 123_456) }
        #expect(long[0] != long[1] && long.allSatisfy { $0.utf8.count < 230 })
    }
}

private func names(in path: String) throws -> [String] {
    guard let folder = opendir(path) else { throw SystemFailure(errno) }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
        names.append(
            withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
    }
    return names
}
