import PushmillEngine
import PushmillPayload
import PushmillStores

/// A changelog record is refused with a reason, or its count is written as the same bytes, apart from what the next
/// version may add after the count.
///
/// The first byte of the input is the length of the key; the key and the value follow.
final class ChangelogTarget: FuzzTarget {
    static let names = ["changelog"]

    init(_ name: String) {}

    func run(_ bytes: [UInt8]) throws {
        guard let length = bytes.first else { return }
        let key = Array(bytes.dropFirst().prefix(Int(length)))
        try read(key, Array(bytes.dropFirst(1 + key.count)))
        try read(key, nil)
    }

    private func read(_ key: [UInt8], _ value: [UInt8]?) throws {
        var view = ChangelogView()
        do throws(ChangelogRecord.Malformed) {
            try view.apply(key: key, value: value)
        } catch {
            return try promise(!error.reason.isEmpty, "refused without a reason")
        }
        let state = view.state(ofKey: key)
        try promise(Self.written(key) == key, "of another account when it is written")
        var bytes: [UInt8] = []
        ChangelogRecord.encode(state, into: &bytes)
        let isNext = value?.first == UInt8(ascii: "v")
        try promise(isNext || bytes == value ?? [UInt8(ascii: "0")], "another count when it is written")
        ChangelogRecord.encode(state, version: .next, into: &bytes)
        let parts = bytes + [UInt8(ascii: " ")]
        try promise(
            !isNext || value == bytes || value?.starts(with: parts) == true, "another count when it is written anew")
        // A count of 0, or of an account without a recipient, has no line.
        let isShown = state.count > 0 && !key.starts(with: [0, 0, 0, 0])
        try promise(Self.lines(of: view) == (isShown ? 1 : 0), "not one line")
    }

    private static func written(_ key: [UInt8]) -> [UInt8] {
        key.withUnsafeBytes { bytes in
            var written: [UInt8] = []
            if let account = try? ChangelogRecord.account(bytes) {
                ChangelogRecord.encodeKey(account.recipient, account.app, into: &written)
            }
            return written
        }
    }

    /// The number of exported lines, each of which must be JSON.
    private static func lines(of view: ChangelogView) throws -> Int {
        var text: [UInt8] = []
        let count = view.exportLines { text += $0 }
        let lines = text.split(separator: UInt8(ascii: "\n"))
        for line in lines { _ = try JSONDocument(bytes: Array(line)) }
        try promise(lines.count == count, "\(lines.count) lines for \(count) counts")
        return count
    }
}
