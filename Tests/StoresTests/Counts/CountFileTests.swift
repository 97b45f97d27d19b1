import Foundation
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
        try folder(cluster: cluster, changelog: changelog).open(
            topic: "events", partition: partition, tell: told.tell)
    }

    /// What files have told since the last `take`.
    private final class Told {
        private var news: [CountFile.News] = []

        func tell(_ new: CountFile.News) { news.append(new) }

        func take() -> [CountFile.News] {
            defer { news = [] }
            return news
        }
    }

    private let told = Told()

    private func read(_ file: CountFile, _ numbers: ClosedRange<UInt64>) -> [UInt64: CountState]? {
        var found: [UInt64: CountState] = [:]
        let isRead = file.read(numbers.map { AccountHash(high: $0 << 60, low: $0) }) { found[$0.low] = $1 }
        return isRead ? found : nil
    }

    private func rows(_ counts: [UInt64: CountState]) -> [CountRow] {
        counts.sorted { $0.key < $1.key }.map { CountRow(AccountHash(high: $0 << 60, low: $0), $1) }
    }

    private func position(_ offset: Int64) -> RecordPosition {
        RecordPosition(partition: 3, offset: offset, timestamp: 1_700_000_000_000)
    }

    /// Writes all at once.
    private func put(_ counts: [UInt64: CountState], into file: CountFile?, at position: RecordPosition?) -> Bool {
        file?.write(rows(counts), at: position, most: .max) == .written
    }

    private let one = CountState(count: 3, incarnation: 2, offset: 120_045)
    private let two = CountState(count: .max, incarnation: 0, offset: CountState.highestOffset)

    @Test("A reopened file has its counts, position and highest state, and none of another partition's")
    func reopening() throws {
        do {
            let file = try open()
            #expect(file.position == nil && file.highest == nil && read(file, 1...3) == [:])
            #expect(put([1: one, 2: two], into: file, at: position(9)))
            #expect(put([2: CountState(count: 0)], into: file, at: nil))
            expect(told.take(), is: [])
        }
        let file = try open()
        #expect(file.position == position(9) && file.highest == one)
        expect(read(file, 1...3), is: [1: one, 2: CountState(count: 0)])
        expect(read(try open(partition: 4), 1...3), is: [:])
        #expect(file.clear())
        #expect(file.position == nil && file.highest == nil && read(file, 1...3) == [:])
        #expect(put([3: one], into: file, at: position(1)) && read(file, 1...3) == [3: one])
    }

    @Test("What is written bit by bit, with reopenings, is what a dictionary has", arguments: 0..<8 as Range<UInt64>)
    func random(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let universe = random.pick([20, 400, 5000])
        var (model, file) = ([AccountHash: CountState](), try open())
        let accounts = (0..<universe).map { number in
            withUnsafeBytes(of: number) { AccountSecret(1, 2).hash($0) }
        }.sorted()
        for round in 1...12 {
            let rows = accounts.filter { _ in random.once(in: round % 4 + 1) }.map {
                CountRow($0, CountState(count: Int32(round), incarnation: 1, offset: Int64(round)))
            }
            let most = random.pick([universe / 12 + 1, universe, .max])
            var state = CountWrite.begun
            while state == .begun {
                state = file.write(rows, at: position(Int64(round)), most: most)
                if state == .begun, random.once(in: 20) { file.giveUpWriting() }
                if state == .begun, random.once(in: 10) {
                    var found: [AccountHash: CountState] = [:]
                    #expect(file.read(accounts) { found[$0] = $1 } && found == model)
                }
            }
            expect(state, is: .written)
            for row in rows { model[row.account] = row.state }
            if random.once(in: 3) { file = try open() }
            var found: [AccountHash: CountState] = [:]
            let asked = accounts.filter { _ in random.once(in: 3) }
            #expect(file.read(asked) { found[$0] = $1 })
            let expected = Set(asked)
            expect(found, is: model.filter { expected.contains($0.key) })
            #expect(file.position == position(Int64(round)) && file.rowCount == model.count)
            try expect(names(in: path).sorted(), is: ["events-3.counts"])
        }
    }

    @Test("Of two owners the last that writes leaves its file, and each goes on with its own")
    func owners() throws {
        let (first, second) = (try open(), try open())
        #expect(put([1: one], into: first, at: position(1)) && put([2: two], into: second, at: position(2)))
        expect(read(try open(), 1...2), is: [2: two])
        #expect(put([3: one], into: first, at: nil))
        #expect(read(first, 1...3) == [1: one, 3: one] && first.position == position(1))
        #expect(read(second, 1...3) == [2: two] && second.position == position(2))
        let last = try open()
        #expect(read(last, 1...3) == [1: one, 3: one] && last.position == position(1) && last.secret == first.secret)
        #expect(second.clear() && read(second, 1...3) == [:])
        expect(read(try open(), 1...3), is: [:])
        expect(read(first, 1...3), is: [1: one, 3: one])
    }

    @Test("A position alone is written without making the file anew")
    func positionAlone() throws {
        let file = try open()
        #expect(put([1: one], into: file, at: position(1)))
        var (before, after) = (stat(), stat())
        expect(stat("\(path)/events-3.counts", &before), is: 0)
        #expect(put([:], into: file, at: position(2)))
        expect(stat("\(path)/events-3.counts", &after), is: 0)
        expect(after.st_ino, is: before.st_ino)
        let again = try open()
        #expect(again.position == position(2) && again.highest == one && read(again, 1...1) == [1: one])
    }

    @Test("What a killed process was making is removed, as are files of the former format, and nothing else")
    func leftOver() throws {
        _ = try folder()
        let others = ["events.counts.new-3.counts", "events-3.counts.new-\(getppid())-7", "events-3.counts.new-x-1"]
        let left = ["events-3.counts.new-\(getpid())-7"] + ["", "-wal", "-shm"].map { "events-3.sqlite\($0)" }
        for name in left + others { try temporary.write([1, 2, 3], to: "counts/\(name)") }
        let file = try open()
        expect(told.take(), is: [])
        try expect(names(in: path).sorted(), is: others.sorted())
        #expect(put([1: one], into: file, at: position(1)))
        expect(read(try open(), 1...1), is: [1: one])
    }

    @Test("Making a file makes its folders again if they were removed")
    func removedFolder() throws {
        let file = try open()
        try #require(rmdir(path) == 0 && rmdir(temporary.path) == 0)
        #expect(put([1: one], into: file, at: position(1)))
        expect(told.take(), is: [])
        try expect(temporary.mode(of: "counts"), is: 0o700)
        expect(read(try open(), 1...2), is: [1: one])
    }

    @Test("A file of another cluster or changelog is set aside, and the last two are kept")
    func foreign() throws {
        func fill(_ file: CountFile) -> Bool { put([1: one], into: file, at: position(1)) }
        #expect(fill(try open()))
        for (cluster, changelog, what) in [
            ("d", "badges", "badges at the cluster c, not to events-3 by badges at the cluster d"),
            ("d", "other", "badges at the cluster d, not to events-3 by other at the cluster d"),
            ("e", "other", "other at the cluster d, not to events-3 by other at the cluster e"),
        ] {
            let file = try open(cluster: cluster, changelog: changelog)
            let news = told.take()
            guard case .setAside(let aside, let reason) = news.first, news.count == 1 else {
                Issue.record("\(news)")
                return
            }
            #expect(reason.hasSuffix(".counts: belongs to events-3 by \(what)") && access(aside, F_OK) == 0)
            #expect(file.position == nil && read(file, 1...1) == [:] && fill(file))
        }
        try expect(names(in: path).filter { $0.contains("aside") }.count, is: 2)
    }

    @Test("A file that is cut off, changed behind its rows, or no file of counts is set aside")
    func unreadable() throws {
        let file = "\(path)/events-3.counts"
        #expect(put([1: one, 2: two, 3: one], into: try open(), at: position(1)))
        let whole = [UInt8](try Data(contentsOf: URL(filePath: file)))
        let rows = 3 * CountRow.size
        let padding = rows + 24 + "events-3 by badges at the cluster c".utf8.count..<whole.count - CountTrailer.size
        var spoiled = [[], [7], Array(repeating: 7, count: 20_000), whole + whole]
        spoiled += [1, 128, 512].map { Array(whole.dropLast($0)) }
        spoiled += (rows..<whole.count).filter { !padding.contains($0) }.map { at in
            var bytes = whole
            bytes[at] ^= 1
            return bytes
        }
        for bytes in spoiled {
            try temporary.write(bytes, to: "counts/events-3.counts")
            let opened = try open()
            guard case .setAside = told.take().first else { throw CancellationError() }
            #expect(opened.position == nil && read(opened, 1...3) == [:] && access(file, F_OK) != 0)
        }
        try temporary.write(whole, to: "counts/events-3.counts")
        expect(read(try open(), 1...1), is: [1: one])
    }

    @Test("A file with holes answers nothing until it is cleared", arguments: [0, 4096, 400_000])
    func damage(hole: Int) throws {
        let accounts = (0..<20_000 as Range<UInt64>).map {
            CountRow(AccountHash(high: $0 << 40, low: $0), one)
        }
        expect(try open().write(accounts, at: position(1), most: .max), is: .written)
        let file = try open()
        let descriptor = Foundation.open("\(path)/events-3.counts", O_WRONLY)
        let zeros = [UInt8](repeating: 0, count: 4096)
        expect(pwrite(descriptor, zeros, zeros.count, hole), is: zeros.count)
        close(descriptor)
        #expect(!file.read(accounts.map(\.account)) { _, _ in })
        #expect(read(file, 1...1) == nil && !put([1: one], into: file, at: position(2)))
        #expect(file.clear() && read(file, 0...3) == [:] && file.position == nil)
        #expect(try names(in: path).contains("events-3.counts.aside-1"))
        // The next owner finds the hole while it writes.
        expect(try open().write(accounts, at: position(1), most: .max), is: .written)
        let next = try open()
        let again = Foundation.open("\(path)/events-3.counts", O_WRONLY)
        expect(pwrite(again, zeros, zeros.count, hole), is: zeros.count)
        close(again)
        #expect(!put([1: one], into: next, at: position(2)) && read(next, 1...1) == nil && next.clear())
    }

    @Test("No bit of a row may change, also one that leaves the rows sorted, as one of a count does")
    func changedRows() throws {
        #expect(put([1: one, 2: two, 3: one], into: try open(), at: position(1)))
        let whole = [UInt8](try Data(contentsOf: URL(filePath: "\(path)/events-3.counts")))
        var missed: [Int] = []
        for bit in 0..<3 * CountRow.size * 8 {
            var bytes = whole
            bytes[bit / 8] ^= 1 << (bit % 8)
            try temporary.write(bytes, to: "counts/events-3.counts")
            let file = try open()
            if read(file, 2...2) != nil || !file.isDamaged { missed.append(bit) }
        }
        expect(missed, is: [])
    }

    @Test("A file that the system no longer reads is damaged: only another one can be read")
    func deadDisk() throws {
        #expect(put([1: one], into: try open(), at: position(1)))
        let path = "\(path)/events-3.counts"
        let file = try SortedCounts.open(path: path, identity: "events-3 by badges at the cluster c")
        let blind = Foundation.open(path, O_WRONLY)
        expect(dup2(blind, file.descriptor), is: file.descriptor)
        close(blind)
        #expect(throws: StoreError.damaged(path: path, what: "Bad file descriptor")) {
            try file.read([AccountHash(high: 1 << 60, low: 1)]) { _, _ in }
        }
    }

    @Test("Instead of a file that cannot be opened another one is made, once that can be")
    func unopened() throws {
        _ = try folder()
        try temporary.makeFolder("counts/events-3.counts")
        let file = try open()
        #expect(file.position == nil && read(file, 1...1) == [:])
        guard case .failed = told.take().first else { throw CancellationError() }
        #expect(!put([1: one], into: file, at: position(1)) && file.position == nil)
        guard case .failed = told.take().first else { throw CancellationError() }
        rmdir("\(path)/events-3.counts")
        #expect(put([1: one], into: file, at: position(1)))
        expect(read(try open(), 1...1), is: [1: one])
    }

    @Test("A full disk leaves the file as it is, until there is room for the next", .enabled(if: SmallDisk.mayMount))
    func fullDisk() throws {
        let disk = try SmallDisk()
        func open() throws -> CountFile {
            try CountFolder(path: "\(disk.folder.path)/counts", cluster: "c", changelog: "badges")
                .open(topic: "events", partition: 3, tell: told.tell)
        }
        expect(put([1: one], into: try open(), at: position(9)), is: true)
        try disk.fill()
        let file = try open()
        #expect(file.position == position(9) && !put([1: two], into: file, at: position(10)))
        guard case .failed(.unopened(_, let error)) = told.take().first else { throw CancellationError() }
        #expect(error == ENOSPC && file.position == position(9) && read(file, 1...1) == [1: one])
        try expect(names(in: "\(disk.folder.path)/counts"), is: ["events-3.counts"])
        disk.makeRoom()
        #expect(put([1: two], into: file, at: position(10)) && read(file, 1...1) == [1: two])
        try expect(open().position, is: position(10))
    }

    @Test("A file for which no descriptor is left is made anew later")
    func descriptors() throws {
        #expect(put([1: one], into: try open(partition: 1), at: position(9)))
        let folder = try CountFolder(path: path, cluster: "c", changelog: "badges", mostFiles: 1)
        var first: CountFile? = folder.open(topic: "events", partition: 0)
        #expect(put([2: two], into: first, at: position(1)))
        let second = folder.open(topic: "events", partition: 1, tell: told.tell)
        let failure = CountFile.News.failed(.unopened(path: "\(path)/events-1.counts", error: EMFILE))
        expect(told.take(), is: [failure])
        #expect(second.position == nil && read(second, 1...1) == [:])
        #expect(!put([1: two], into: second, at: position(10)))
        #expect(read(second, 1...1) == [:] && told.take() == [failure])
        first = nil
        #expect(put([1: two], into: second, at: position(10)) && read(second, 1...1) == [1: two])
        #expect(second.clear() && folder.open(topic: "events", partition: 0).position == position(1))
    }

    @Test("A file keeps its secret while it exists, and its opener keeps that even beyond")
    func secret() throws {
        let file = try open()
        #expect(try open().secret != file.secret)
        #expect(put([:], into: file, at: position(1)))
        #expect(try open(partition: 4).secret != file.secret)
        let later = try open()
        #expect(later.secret == file.secret && later.position == position(1) && later.highest == nil)
        #expect(later.clear() && put([1: one], into: later, at: nil))
        let last = try open()
        #expect(last.secret == file.secret && last.position == nil && last.highest == one)
        try expect(temporary.mode(of: "counts/events-3.counts"), is: 0o600)
        #expect(try open(cluster: "d").secret != file.secret)
    }

    @Test("File names are valid and distinct for any topic name")
    func fileNames() {
        expect(CountFolder.fileName("events.v1_x-2", 7), is: "events.v1_x-2-7")
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
        let name = withUnsafeBytes(of: &entry.pointee.d_name) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        if !name.hasPrefix(".") { names.append(name) }
    }
    return names
}
