import PushmillStores
import Testing

@testable import PushmillEngine

@Suite("Changes of counts on their way to the changelog")
struct CountChangesTests {
    private static func add(_ changes: inout CountChanges, _ partition: Int32, _ key: String, isRewrite: Bool = false) {
        changes.add(
            partition: partition, AccountHash(high: UInt64(key.utf8.count), low: 0), CountState(count: 1),
            isRewrite: isRewrite, timestamp: 5
        ) { $0.append(contentsOf: key.utf8) }
    }

    private static func keys(_ changes: CountChanges) -> [String] {
        changes.list.map { change in changes.withKey(of: change) { String(decoding: $0, as: UTF8.self) } }
    }

    @Test("They keep their order and each its key")
    func order() {
        var changes = CountChanges()
        for (partition, key) in [(0, "a"), (1, ""), (0, "ccc")] as [(Int32, String)] {
            Self.add(&changes, partition, key)
        }
        #expect(Self.keys(changes) == ["a", "", "ccc"])
        #expect(changes.count == 3)
        changes.removeAll()
        #expect(changes.isEmpty)
        Self.add(&changes, 0, "d")
        #expect(Self.keys(changes) == ["d"])
    }

    @Test("Those of some partitions can be taken out, in their order, with their keys")
    func taken() {
        var changes = CountChanges()
        for (partition, key) in [(0, "a"), (1, "bb"), (2, "c"), (1, "d")] as [(Int32, String)] {
            Self.add(&changes, partition, key)
        }
        let taken = changes.take { $0 == 1 }
        #expect(Self.keys(taken) == ["bb", "d"])
        #expect(Self.keys(changes) == ["a", "c"])
    }

    @Test("What is put back goes before what came since")
    func putBack() {
        var (earlier, changes) = (CountChanges(), CountChanges())
        Self.add(&earlier, 0, "first")
        Self.add(&changes, 0, "second")
        changes.putBack(earlier)
        #expect(Self.keys(changes) == ["first", "second"])
    }

    @Test("What was counted may come to nothing; what only says again what is known stays")
    func counted() {
        var changes = CountChanges()
        Self.add(&changes, 0, "counted")
        Self.add(&changes, 0, "again", isRewrite: true)
        Self.add(&changes, 1, "other", isRewrite: true)
        changes.removeCounted()
        #expect(Self.keys(changes) == ["again", "other"])
        changes.remove(partition: 0)
        #expect(Self.keys(changes) == ["other"])
    }
}
