import Push
import Testing

@testable import Stores

struct CountsTests {
    let counts = Counts()
    private let unreadable = StoreError.damaged(path: "state", what: "unreadable")

    @Test("Events add up before any of them is acknowledged")
    func running() throws {
        for (operation, expected) in [(BadgeOperation.add(2), 5), (.add(1), 6), (.set(0), 0), (.add(4), 4)] {
            _ = try counts.process("anna", operation, stored: 3)
            #expect(try counts.count("anna") == Int32(expected))
        }
        #expect(try counts.count("boris", stored: 9) == 9)
    }

    @Test("A count that cannot be loaded is an error, and is loaded by the next message")
    func failingLoad() throws {
        #expect(throws: unreadable) {
            try "anna".withBytes { (name) throws(StoreError) in
                _ = try counts.live.begin(
                    recipient: name, app: name, lease: counts.lease
                ) { () throws(StoreError) -> Int32 in throw unreadable }
            }
        }
        #expect(try counts.count("anna", stored: 7) == 7)
    }

    @Test("The same recipient has a count in each app")
    func apps() throws {
        let pairs = [("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc")]
        for (number, (recipient, app)) in pairs.enumerated() {
            try recipient.withBytes { recipient in
                try app.withBytes { app in
                    let slot = try counts.live.begin(recipient: recipient, app: app, lease: counts.lease) {
                        Int32(number)
                    }
                    #expect(slot?.count == Int32(number))
                }
            }
        }
    }

    @Test("A recipient's count is one message's at a time")
    func busy() throws {
        let first = try counts.begin("anna", stored: 1)
        #expect(throws: StoreError.self) { try counts.begin("anna") }
        counts.live.end(first, .add(1))
        #expect(try counts.count("anna") == 2)
    }

    @Test("A checkpoint holds the acknowledged count, not the live one")
    func acknowledged() throws {
        let first = try counts.process("anna", .add(1))
        _ = try counts.process("anna", .add(1))
        #expect(try counts.acknowledge(first, at: 10) == [10])
        #expect(counts.take() == ["anna=1"])
        #expect(try counts.count("anna") == 2)
        #expect(counts.take() == [])
    }

    @Test("An acknowledgement that comes before an earlier one waits for it, its offset too")
    func early() throws {
        let changes = try [BadgeOperation.add(1), .set(0), .add(5)].map { try counts.process("anna", $0) }
        #expect(try counts.acknowledge(changes[2], at: 12) == [])
        #expect(try counts.acknowledge(changes[1], at: 11) == [])
        #expect(counts.take() == [])
        #expect(try counts.acknowledge(changes[0], at: 10) == [10, 11, 12])
        #expect(counts.take() == ["anna=5"])
    }

    @Test("Events given up are undone, whoever is told first")
    func givenUp() throws {
        let changes = try (0..<4).map { _ in try counts.process("anna", .add(1), stored: 5) }
        #expect(try counts.giveUp(changes[3]) == [])
        #expect(try counts.acknowledge(changes[0], at: 10) == [10])
        #expect(try counts.count("anna") == 9)
        #expect(try counts.giveUp(changes[1]) == [])
        #expect(try counts.giveUp(changes[2]) == [])
        #expect(try counts.count("anna") == 6)
        #expect(counts.take() == ["anna=6"])
    }

    @Test("What was acknowledged behind a given up event is undone with it, for it will be repeated behind it")
    func followersOfGivenUp() throws {
        let changes = try (0..<3).map { _ in try counts.process("anna", .add(1)) }
        #expect(try counts.acknowledge(changes[2], at: 3) == [])
        #expect(try counts.giveUp(changes[0]) == [])
        #expect(try counts.giveUp(changes[1]) == [])
        #expect(try counts.count("anna") == 0)
    }

    @Test("What came from another partition stays acknowledged, and counts without the given up event")
    func followersFromElsewhere() throws {
        let changes = try (0..<2).map { _ in try counts.process("anna", .add(1)) }
        #expect(try counts.acknowledge(changes[1], at: 3) == [])
        #expect(try counts.giveUp(changes[0], assignment: 1) == [3])
        #expect(try counts.count("anna") == 1)
    }

    @Test("A late acknowledgement of a settled change does nothing")
    func late() throws {
        let change = try counts.process("anna", .add(1))
        #expect(try counts.giveUp(change) == [])
        #expect(try counts.acknowledge(change, at: 3) == [])
        #expect(try counts.count("anna") == 0)
    }

    @Test("A batch that was not saved is part of the next, with the counts as they are by then")
    func putBack() throws {
        let changes = try ["anna", "boris", "anna"].map { try counts.process($0, .add(1)) }
        _ = try counts.acknowledge(changes[0], at: 0)
        _ = try counts.acknowledge(changes[1], at: 1)
        let batch = counts.settled.take()
        _ = try counts.acknowledge(changes[2], at: 2)
        counts.settled.putBack(batch)
        #expect(counts.take() == ["anna=2", "boris=1"])
        #expect(counts.take() == [])
    }
}
