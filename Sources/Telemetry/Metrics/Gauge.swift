import Synchronization

/// A number that is set, or goes up and down, from any thread.
public final class Gauge: MetricSeries {
    private let number = Atomic<Int>(0)

    package init() {}

    public func set(_ value: Int) { number.store(value, ordering: .relaxed) }

    public func add(_ amount: Int) { number.wrappingAdd(amount, ordering: .relaxed) }

    public var value: Int { number.load(ordering: .relaxed) }

    package func write(into exposition: inout Exposition, labels: String) {
        exposition.sample(labels: labels, value)
    }
}
