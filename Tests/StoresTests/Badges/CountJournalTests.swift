import TestSupport
import Testing

@testable import Stores

struct CountJournalTests {
    private static func encoded() -> [UInt8] {
        let counts: [(String, String, Int32)] = [
            ("", "", 0), ("anna", "com.example", 1), (String(repeating: "x", count: 300), "\0", .max), ("b", "", 128),
        ]
        let batch = CountBatch(
            counts: counts.map { recipient, app, count in
                let account = recipient.withBytes { recipient in
                    app.withBytes { app in
                        BadgeAccount(recipient: recipient, app: app, count: count, lease: CountLease())
                    }
                }
                return (account, account.settled)
            })
        var bytes: [UInt8] = [1, 2, 3]
        CountJournal.encode(batch, into: &bytes)
        return bytes
    }

    private static func decode(_ bytes: [UInt8]) -> (isSound: Bool, texts: [String]) {
        var texts: [String] = []
        let isSound = bytes.withUnsafeBytes { bytes in
            CountJournal.decode(bytes) { texts.append("\($0.text)/\($1.text)=\($2)") }
        }
        return (isSound, texts)
    }

    @Test("What was encoded is decoded")
    func roundTrip() {
        let (isSound, texts) = Self.decode(Self.encoded())
        #expect(isSound)
        let long = String(repeating: "x", count: 300)
        #expect(texts == ["/=0", "anna/com.example=1", "\(long)/\0=\(Int32.max)", "b/=128"])
    }

    @Test("A journal that was cut off in the middle of an entry is not sound")
    func truncated() {
        let whole = Self.encoded()
        let ends = (0...whole.count).filter { Self.decode(Array(whole[..<$0])).isSound }
        #expect(ends.count == 5)
    }

    @Test("Damaged bytes are refused or read, and never trap", arguments: 0..<200)
    func mutated(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var bytes = Self.encoded()
        for _ in 0..<4 { bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random) }
        for text in Self.decode(bytes).texts { #expect(text.contains("=")) }
    }
}
