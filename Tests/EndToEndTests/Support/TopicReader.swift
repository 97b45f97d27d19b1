import Glibc
import PushmillKafka
import Synchronization
import PushmillTelemetry

/// Reads a topic from its beginning, outside of any group, on a thread of its own.
final class TopicReader<Element: Sendable>: Sendable {
    private let elements = Watched<[Element]>([])
    private let isStopping = Watched(false)
    private let thread = Mutex<Thread?>(nil)

    init(_ brokers: Brokers, topic: String, partitions: Int, read: @escaping @Sendable (Record) -> Element) throws {
        let (elements, isStopping) = (elements, isStopping)
        let properties = brokers.properties([("fetch.wait.max.ms", "50")])
        let positions = (0..<Int32(partitions)).map { Position(TopicPartition(topic, $0), offset: Position.beginning) }
        let started = try Thread(named: "test") {
            guard let reader = try? PartitionReader(properties, log: { _, _, _ in }),
                (try? reader.read(from: positions)) != nil
            else { return }
            while !isStopping.value {
                let records = reader.poll(milliseconds: 50).records
                guard !records.isEmpty else { continue }
                let new = records.map(read)
                for record in records { record.destroy() }
                elements.change { $0 += new }
            }
        }
        thread.withLock { $0 = started }
    }

    func stop() {
        isStopping.change { $0 = true }
        thread.withLock { $0.take() }?.join()
    }

    var all: [Element] { elements.value }

    func wait(
        for what: String, within limit: Duration = .seconds(60), until isMet: @escaping @Sendable ([Element]) -> Bool
    ) async throws {
        do {
            try await elements.wait(for: what, within: limit, until: isMet)
        } catch let overdue as Overdue {
            throw Overdue(what: "\(overdue.what) (there are \(elements.value.count))", limit: overdue.limit)
        }
    }

    /// Waits for at least that many elements, and returns all that there are.
    @discardableResult
    func wait(count: Int, within limit: Duration = .seconds(60)) async throws -> [Element] {
        try await wait(for: "\(count) records", within: limit) { $0.count >= count }
        return all
    }
}
