import PushmillPayload

@testable import PushmillReplay

/// A source of records in memory.
final class Recording: RecordSource {
    let name: String
    private var rest: ArraySlice<RecordEnvelope>

    init(_ records: [RecordEnvelope], name: String = "the recording") {
        self.name = name
        rest = records[...]
    }

    func next(_ limit: Int) async throws(ReplayError) -> [RecordEnvelope] {
        defer { rest = rest.dropFirst(limit) }
        return Array(rest.prefix(limit))
    }

    func failure(at index: Int, _ what: String) -> ReplayError { .unreadable(name: name, what: what) }
}

extension RecordEnvelope {
    init(
        _ payload: String?, key: String? = "anna", offset: Int64 = 0, partition: Int32 = 0, topic: String = "events",
        headers: [(String, String)] = [], timestamp: Int64 = 1_700_000_000_000
    ) {
        self.init()
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
        self.key = key.map { Array($0.utf8) }
        self.payload = payload.map { Array($0.utf8) }
        self.headers = headers.map { Header(name: Array($0.0.utf8), value: Array($0.1.utf8)) }
    }

    var line: String {
        var line: [UInt8] = []
        append(to: &line)
        return String(decoding: line, as: UTF8.self)
    }

    var payloadText: String { String(decoding: payload ?? [], as: UTF8.self) }
}
