import FoundationEssentials
import Pushmill
import PushmillPayload

/// A result that differs from its golden file.
public struct GoldenChange: Sendable, Equatable, CustomStringConvertible {
    /// The payload's file name, without its extension.
    public let name: String
    public let what: String

    public var description: String { "\(name): \(what)" }
}

extension StageTest {
    /// The environment variable that makes `changes` rewrite the expected results.
    public static let updateVariable = "PUSHMILL_TEST_UPDATE"

    /// Takes each payload of a folder through the chain, and returns what does not come out as expected. A test says:
    ///
    ///     #expect(try await test.changes(in: "Golden") == [])
    ///
    /// The folder's path is relative to that of the test's source. `NAME.json` is a payload; `NAME.headers`, if it
    /// exists, has the record's headers, one a line, such as `recipient: anna`. `NAME.expected` has the output of
    /// `pushmill apply`: outcome and stages in a line, then the payload. With `PUSHMILL_TEST_UPDATE=1` in the
    /// environment it is written instead, for `git diff` to show.
    public func changes(in folder: String, beside source: String = #filePath) async throws -> [GoldenChange] {
        let isUpdate = Self.isUpdate(ProcessInfo.processInfo.environment)
        return try await changes(in: Self.path(folder, beside: source), isUpdate: isUpdate)
    }

    /// Only with 1: a user who sets 0 wants no update, and an update passes whatever the results are.
    package static func isUpdate(_ environment: [String: String]) -> Bool { environment[updateVariable] == "1" }

    package func changes(in folder: String, isUpdate: Bool) async throws -> [GoldenChange] {
        let files = try Set(FileManager.default.contentsOfDirectory(atPath: folder))
        let names = files.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(".json".count)) }.sorted()
        guard !names.isEmpty else { return [GoldenChange(name: folder, what: "the folder has no payloads")] }
        var changes: [GoldenChange] = []
        for name in names {
            func path(_ kind: String) -> String { "\(folder)/\(name).\(kind)" }
            let payload = try Self.bytes(path("json"))
            let headers = try files.contains("\(name).headers") ? Self.headers(Self.text(path("headers"))) : [:]
            let result = await runAlone(record(payload, headers, nil, Self.timestamp))
            guard !isUpdate else {
                try Data(result.golden.utf8).write(to: URL(filePath: path("expected")))
                continue
            }
            let found =
                try files.contains("\(name).expected")
                ? result.changes(from: Self.text(path("expected")))
                : ["its .expected file is missing: \(Self.updateVariable)=1 writes it"]
            changes += found.map { GoldenChange(name: name, what: $0) }
        }
        for file in files.sorted() where file.hasSuffix(".expected") {
            let name = String(file.dropLast(".expected".count))
            if !names.contains(name) { changes.append(GoldenChange(name: name, what: "its payload is missing")) }
        }
        return changes
    }

    private static func text(_ path: String) throws -> String { String(decoding: try bytes(path), as: UTF8.self) }

    /// Without the newline that editors add at the end.
    private static func bytes(_ path: String) throws -> [UInt8] {
        var bytes = try FileBytes(path: path).bytes
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        return bytes
    }

    private static func headers(_ text: String) -> [String: String] {
        let pairs = text.split(whereSeparator: \.isNewline).map { line in
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            return (
                String(line[..<colon]),
                String(line[colon...].dropFirst().trimmingPrefix(while: \.isWhitespace))
            )
        }
        return Dictionary(pairs) { $1 }
    }
}

extension StageTest.Result {
    fileprivate var golden: String { payload.map { "\(summary)\n\($0)\n" } ?? "\(summary)\n" }

    fileprivate func changes(from golden: String) -> [String] {
        // The published payload may be empty.
        let parts = golden.split(maxSplits: 1, omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        let (line, text) = (parts.first.map { String($0) } ?? "", parts.dropFirst().first.map { String($0) })
        var changes: [String] = []
        if line != summary { changes.append("\(line) -> \(summary)") }
        // Compared by bytes: as strings, different Unicode compositions of a text are equal.
        guard text.map({ Array($0.utf8) }) != payload.map({ Array($0.utf8) }) else { return changes }
        func document(_ text: String?) -> JSONDocument? { text.flatMap { try? JSONDocument($0) } }
        guard let before = document(text), let after = document(payload) else {
            return changes + ["\(text ?? "nothing") -> \(payload ?? "nothing")"]
        }
        let differences = JSONDifference.between(before, after).map(\.description)
        return changes + (differences.isEmpty ? ["the payload differs only in its spelling"] : differences)
    }
}
