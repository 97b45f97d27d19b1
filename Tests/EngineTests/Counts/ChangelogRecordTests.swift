import PushmillStores
import PushmillTestSupport
import Testing

@testable import PushmillEngine

typealias Record = ChangelogRecord

@Suite("Records of the counts changelog")
struct ChangelogRecordTests {
    @Test(
        "An encoded state decodes to the same state in both versions",
        arguments: [
            (CountState(count: 3, offset: 120_045), "3 120045"),
            (CountState(count: 3, incarnation: 1, offset: 120_045), "3 120045 1"),
            (CountState(count: 0, offset: 17), "0 17"), (CountState(count: 10, offset: 0), "10 0"),
            (CountState(count: 3), "3"), (CountState(count: 0), "0"), (CountState(count: 3, incarnation: 2), "3 -1 2"),
            (
                CountState(
                    count: .max, incarnation: CountState.highestIncarnation, offset: CountState.highestOffset),
                "2147483647 70368744177662 4095"
            ),
        ])
    func roundTrip(state: CountState, text: String) throws {
        var bytes = Array("something else".utf8)
        Record.encode(state, into: &bytes)
        expect(String(decoding: bytes, as: UTF8.self), is: text)
        try expect(read(bytes), is: state)
        Record.encode(state, version: .next, into: &bytes)
        expect(String(decoding: bytes, as: UTF8.self), is: "v2 \(text)")
        try expect(read(bytes), is: state)
    }

    @Test(
        "Unknown named fields of the next version are skipped",
        arguments: ["v2 3 17 1 by=4", "v2 3 17 1 a=b c=d e", "v2 3 17 1 a=1 2 3"])
    func named(text: String) throws {
        try expect(read(Array(text.utf8)), is: CountState(count: 3, incarnation: 1, offset: 17))
    }

    @Test(
        "A malformed value is rejected with its reason",
        arguments: [
            ("", Record.Malformed.notACount), ("x", .notACount), ("-1", .notACount), ("03", .notACount),
            ("3x", .notACount),
            (" 3", .notACount), ("2147483648", .notACount), ("99999999999999999999999", .notACount),
            ("3 ", .notAnOffset), ("3 x", .notAnOffset), ("3 -1", .notAnOffset), ("3 -2 1", .notAnOffset),
            ("3 01", .notAnOffset), ("3 70368744177663", .notAnOffset), ("3 1x", .notAnOffset), ("3  1", .notAnOffset),
            ("3 1 ", .notAnIncarnation), ("3 1 0", .notAnIncarnation), ("3 1 4096", .notAnIncarnation),
            ("v1 3", .notACount), ("v2", .notACount), ("v2 ", .notACount), ("v2 a=1", .notACount), ("v 3", .notACount),
            ("v02 3", .notACount), ("v3 3", .version(3)), ("v3", .version(3)), ("v12:x", .version(12)),
            ("3 1 1 ", .notAnIncarnation), ("3 1 1 1", .notAnIncarnation), ("3 -1 0", .notAnIncarnation),
        ])
    func malformed(text: String, what: Record.Malformed) {
        #expect(throws: what) { try read(Array(text.utf8)) }
    }

    @Test("A tombstone is a count of zero of an unknown event")
    func tombstone() throws { try expect(Record.state(nil), is: CountState(count: 0)) }

    @Test("A key includes the recipient's length, which makes it unique to its pair")
    func keys() throws {
        var key = [UInt8(1)]
        Array("anna".utf8).withUnsafeBytes { name in
            Array("app".utf8).withUnsafeBytes { app in Record.encodeKey(name, app, into: &key) }
        }
        expect(key, is: [0, 0, 0, 4] + Array("annaapp".utf8))
        let both = try parts(key)
        expect(both, is: [Array("anna".utf8), Array("app".utf8)])
        try expect(parts([0, 0, 0, 0]), is: [[], []])
        #expect(throws: Record.Malformed.noKey) { _ = try Record.account(nil) }
        for short in [[], [0, 0, 0], [0, 0, 0, 2, 65], [255, 255, 255, 255, 1]] as [[UInt8]] {
            #expect(throws: Record.Malformed.shortKey) { try parts(short) }
        }
    }

    private func read(_ bytes: [UInt8]) throws -> CountState {
        try bytes.withUnsafeBytes { try Record.state($0) }
    }

    private func parts(_ key: [UInt8]) throws -> [[UInt8]] {
        try key.withUnsafeBytes {
            let parts = try Record.account($0)
            return [Array(parts.recipient), Array(parts.app)]
        }
    }
}

@Suite("The resulting counts of a changelog")
struct ChangelogViewTests {
    private func key(_ recipient: String, _ app: String) -> [UInt8] {
        var key: [UInt8] = []
        Array(recipient.utf8).withUnsafeBytes { recipient in
            Array(app.utf8).withUnsafeBytes { Record.encodeKey(recipient, $0, into: &key) }
        }
        return key
    }

    @Test("Exported lines show all counts except zeros and nobody's, or one recipient's")
    func lines() throws {
        var view = ChangelogView()
        for (recipient, app, value) in [
            ("bert", "x", "1 1"), ("anna", "y", "2 2"), ("anna", "x", "3 3"), ("carl", "x", "0 4"),
            // Of the same event, the last record counts.
            ("bert", "x", "9 5"), ("bert", "x", "5 5"), ("bert", "x", "4 4"), ("", "", "1000 7"),
        ] {
            try view.apply(key: key(recipient, app), value: Array(value.utf8))
        }
        func lines(of recipient: String? = nil) -> (text: String, count: Int) {
            var text: [UInt8] = []
            let count = view.exportLines(recipient: recipient.map { Array($0.utf8) }) { text += $0 }
            return (String(decoding: text, as: UTF8.self), count)
        }
        let anna = """
            {"recipient":"anna","app":"x","count":3}
            {"recipient":"anna","app":"y","count":2}

            """
        #expect(lines() == (anna + #"{"recipient":"bert","app":"x","count":5}"# + "\n", 3))
        #expect(lines(of: "anna") == (anna, 2))
        #expect(lines(of: "carl") == ("", 0))
        #expect(lines(of: "") == ("", 0))
    }
}
