@testable import PushmillKafka

/// Statistics name only partitions and brokers that can exist, the brokers in order.
final class StatisticsTarget: FuzzTarget {
    static let names = ["statistics"]

    init(_ name: String) {}

    func run(_ bytes: [UInt8]) throws {
        guard let statistics = ClientStatistics(json: bytes) else { return }
        for partition in statistics.partitions {
            try promise(partition.id.partition >= 0, "a partition without a number")
        }
        let brokers = statistics.roundTrips.map(\.broker)
        try promise(brokers == brokers.sorted() && (brokers.first ?? 0) >= 0, "brokers out of order")
    }
}
