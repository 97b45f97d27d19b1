import PushmillKafka
package import PushmillPayload

/// The lines of a capture, without blank ones, and their numbers.
struct CaptureLines {
    typealias Line = (number: Int, bytes: [UInt8])

    private static let longestLine = 64 << 20

    /// Not a NUL: a power failure may leave many of them where lines were.
    private static func isBlank(_ byte: UInt8) -> Bool {
        [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r")].contains(byte)
    }

    private let file: InputFile
    private var lines = LineReader()

    init(path: String) throws(ReplayError) {
        file = try filed { () throws(FileFailure) in try InputFile(path: path) }
    }

    /// Nil at the end of the file.
    mutating func next() throws(ReplayError) -> Line? {
        repeat {
            let (file, number) = (file, lines.number + 1)
            let line = try lines.next { count throws(ReplayError) in
                guard count < Self.longestLine else {
                    throw .unreadable(name: file.path, line: number, what: "longer than 64 MiB")
                }
                do throws(FileFailure) { return try file.next() } catch {
                    throw .unreadable(name: error.path, line: number, what: error.what)
                }
            }
            guard let line else { return nil }
            if !line.allSatisfy(Self.isBlank) { return (number, Array(line)) }
        } while true
    }
}

/// Recorded input, in its order. For one caller at a time.
package protocol RecordSource: AnyObject {
    /// The source's name in messages.
    var name: String { get }

    /// The next records, at most `limit`; none at the end.
    func next(_ limit: Int) async throws(ReplayError) -> [RecordEnvelope]

    /// The error for one of the records that `next` returned last, with its place.
    func failure(at index: Int, _ what: String) -> ReplayError

    /// False if the source leaves out records of this time.
    func isInRange(_ time: Int64) -> Bool
}

extension RecordSource {
    package func isInRange(_ time: Int64) -> Bool { true }
}

extension RecordEnvelope {
    /// Copies a record that the brokers delivered.
    init(_ record: Record, topic name: String) {
        self.init()
        topic = name
        partition = record.partition
        offset = record.offset
        timestamp = record.timestamp
        timestampType = record.timestampKind.rawValue
        key = record.key.map { Array($0) }
        payload = record.value.map { Array($0) }
        guard let view = record.headers else { return }
        for index in 0..<view.count {
            guard let (name, value) = view.entry(index) else { continue }
            headers.append(Header(name: Array(name), value: value.map { Array($0) }))
        }
    }

    /// The value of the last header of this name.
    package func header(_ name: StaticString) -> [UInt8]? { headers.last { $0.isNamed(name) }?.value }

    /// The record is a CloudEvent that contains the payload.
    var isStructured: Bool { header("content-type")?.withUnsafeBytes(CloudEvent.isStructured) ?? false }

    /// Does nothing if the header is missing.
    mutating func setHeader(_ name: StaticString, to value: StaticString) {
        guard let index = headers.lastIndex(where: { $0.isNamed(name) }) else { return }
        headers[index].value = Array("\(value)".utf8)
    }

    package func text(_ name: StaticString) -> String? { header(name).map { String(decoding: $0, as: UTF8.self) } }

    /// The `recipient` header unless it is empty, else the key.
    var recipient: [UInt8]? { header("recipient").flatMap { $0.isEmpty ? nil : $0 } ?? key }

    /// Empty if there is no key.
    var keyText: String { key.map { String(decoding: $0, as: UTF8.self) } ?? "" }

    /// As in the header `pushmill-source`.
    package var place: String { "\(topic)/\(partition)/\(offset)" }
}

extension RecordEnvelope.Header {
    package func isNamed(_ text: StaticString) -> Bool { name.elementsEqual(text.bytes) }
}
