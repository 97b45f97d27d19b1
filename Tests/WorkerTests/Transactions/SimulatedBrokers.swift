/// Brokers that keep Kafka's rules for one partition of events, its badge and the group that reads it: what a
/// transaction holds is seen when it is committed and never otherwise, a producer whose name was taken over is fenced,
/// and offsets are taken from members of the present generation only.
struct SimulatedBrokers {
    enum Answer { case done, abortable, fenced }

    private struct Transaction {
        var outputs: [Int] = []
        var badge: Int?
        var offset: Int?
    }

    private(set) var outputs: [Int] = []
    private(set) var badge = 0
    private(set) var offset = 0
    /// Grows with each rebalance.
    private(set) var generation = 0
    private(set) var owner = 0
    private var epochs = [0, 0]
    private var open: [Transaction?] = [nil, nil]

    /// Gives the producer's epoch.
    mutating func initialize(_ name: Int) -> Int {
        open[name] = nil
        epochs[name] += 1
        return epochs[name]
    }

    mutating func begin(_ name: Int, epoch: Int) -> Answer {
        guard epochs[name] == epoch else { return .fenced }
        open[name] = Transaction()
        return .done
    }

    /// An output of a fenced producer goes nowhere.
    mutating func publish(_ event: Int, _ name: Int, epoch: Int) {
        if epochs[name] == epoch { open[name]?.outputs.append(event) }
    }

    mutating func add(badge: Int, offset: Int, _ name: Int, epoch: Int, generation: Int) -> Answer {
        guard epochs[name] == epoch else { return .fenced }
        guard generation == self.generation, name == owner else { return .abortable }
        open[name]?.badge = badge
        open[name]?.offset = offset
        return .done
    }

    mutating func commit(_ name: Int, epoch: Int) -> Answer {
        guard epochs[name] == epoch else { return .fenced }
        if let transaction = open[name] {
            outputs += transaction.outputs
            badge = transaction.badge ?? badge
            offset = transaction.offset ?? offset
        }
        open[name] = nil
        return .done
    }

    mutating func abort(_ name: Int, epoch: Int) -> Answer {
        guard epochs[name] == epoch else { return .fenced }
        open[name] = nil
        return .done
    }

    mutating func rebalance(to name: Int) {
        generation += 1
        owner = name
    }
}
