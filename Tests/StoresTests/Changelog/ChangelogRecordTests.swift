import TestSupport
import Testing

@testable import Stores

struct ChangelogRecordTests {
    private static func key(_ recipient: String, _ app: String) -> [UInt8] {
        var key: [UInt8] = []
        recipient.withBytes { recipient in
            app.withBytes { app in ChangelogRecord.appendKey(recipient, app, to: &key) }
        }
        return key
    }

    private static func value(_ count: Int32) -> [UInt8]? {
        var value: [UInt8] = []
        return ChangelogRecord.appendValue(count, to: &value) ? value : nil
    }

    /// `recipient/app=count`, or what is wrong.
    private static func read(_ key: [UInt8]?, _ value: [UInt8]?) -> String {
        key.withPointer { key in
            value.withPointer { value in
                do throws(ChangelogRecord.Malformed) {
                    let (recipient, app) = try ChangelogRecord.account(key)
                    return "\(recipient.bytes.text)/\(app.bytes.text)=\(try ChangelogRecord.count(value))"
                } catch {
                    return error.what
                }
            }
        }
    }

    @Test(
        "What was written is read",
        arguments: [
            ("anna", "com.example", 1), ("", "", .max), ("anna", "", 0), ("", "anna", 10),
            (String(repeating: "x", count: 70_000), "\0", 1_000_000),
        ] as [(String, String, Int32)])
    func roundTrip(recipient: String, app: String, count: Int32) {
        #expect(Self.read(Self.key(recipient, app), Self.value(count)) == "\(recipient)/\(app)=\(count)")
    }

    @Test("A key tells where the recipient ends and the app begins")
    func unambiguous() {
        let keys = [("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc")].map { Self.key($0, $1) }
        #expect(Set(keys).count == keys.count)
        #expect(Self.key("é", "x") == [0, 0, 0, 2, 0xC3, 0xA9, 0x78])
    }

    @Test("A count of 0 has no value, and no value is a count of 0")
    func tombstone() {
        #expect(Self.value(0) == nil)
        #expect(Self.value(-1) == nil)
        #expect(Self.read(Self.key("anna", ""), nil) == "anna/=0")
    }

    @Test(
        "A key that is none is refused with the reason",
        arguments: [
            (nil, "no key"), ([], "the key ends within its recipient"),
            ([0, 0, 0], "the key ends within its recipient"),
            ([0, 0, 0, 1], "the key ends within its recipient"),
            ([0xFF, 0xFF, 0xFF, 0xFF, 1], "the key ends within its recipient"), ([0, 0, 0, 0], "/=0"),
        ] as [([UInt8]?, String)])
    func badKey(key: [UInt8]?, what: String) {
        #expect(Self.read(key, nil) == what)
    }

    @Test(
        "A value that is no count is refused",
        arguments: [
            "", " 1", "1 ", "+1", "-1", "01", "00", "1.0", "1e2", "2147483648", "99999999999999999999", "x", "１",
        ])
    func badValue(value: String) {
        #expect(Self.read(Self.key("anna", ""), Array(value.utf8)) == "the value is not a count")
    }

    @Test(
        "Any bytes are refused with a reason or are the very bytes that what they say is written as", arguments: 0..<50)
    func anyBytes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<400 {
            var key = Self.key(String(repeating: "r", count: Int.random(in: 0..<6, using: &random)), "app")
            var value = Self.value(.random(in: 0 ... .max, using: &random))
            for _ in 0..<Int.random(in: 0..<4, using: &random) {
                key[Int.random(in: key.indices, using: &random)] = random.byte()
                if let last = value?.indices.last {
                    value?[Int.random(in: 0...last, using: &random)] = random.byte() & 0x3F
                }
            }
            if random.once(in: 4) { key.removeLast(Int.random(in: 0...key.count, using: &random)) }
            if random.once(in: 4) { value = random.once(in: 2) ? [] : nil }
            expectSameBytes(key, value)
        }
    }

    private func expectSameBytes(_ key: [UInt8], _ value: [UInt8]?) {
        key.withUnsafeBytes { bytes in
            guard let account = try? ChangelogRecord.account(bytes) else { return }
            var again: [UInt8] = []
            ChangelogRecord.appendKey(account.recipient.bytes, account.app.bytes, to: &again)
            #expect(again == key)
        }
        value.withPointer { bytes in
            guard let count = try? ChangelogRecord.count(bytes) else { return }
            #expect(count == 0 ? value == nil || value == [0x30] : Self.value(count) == value)
        }
    }
}

extension [UInt8]? {
    func withPointer<Result>(_ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
        guard let self else { return body(nil) }
        return self.withUnsafeBytes { body($0) }
    }
}
