import PushmillPayload

/// Deliveries that go through the chain together, stage by stage. What one stage needs stays in the processor's caches
/// meanwhile, which have no room for the code of the whole chain. For one thread.
public struct DeliveryGroup: ~Copyable {
    /// A value of so many bytes leaves no large delivery.
    private static var usualSize: Int { 8192 }

    private var deliveries: [Delivery] = []
    /// `deliveries`, without reference counting.
    private(set) var unowned: [Unmanaged<Delivery>] = []
    /// How each has left the chain, or why it waits; nil while it runs, and once that was taken.
    var steps: [Chain.Step?] = []
    public private(set) var count = 0

    public init() {}

    /// Empties the group. Steps that nobody has taken are dropped.
    public mutating func removeAll() {
        for index in 0..<count {
            // Its stage has not begun.
            if case .suspended = steps[index] { replace(index, by: Delivery()) }
            steps[index] = nil
        }
        count = 0
    }

    /// Adds a delivery that is clear, and whose record `fill` fills. The rest is as with `Chain.begin`.
    public mutating func add(
        to chain: Chain, taken: Instant?, now: Instant, wallClock: Int64, count: Int32?, isCounted: Bool,
        fill: (Delivery) -> Void
    ) {
        if self.count == deliveries.count {
            let delivery = Delivery()
            deliveries.append(delivery)
            unowned.append(.passUnretained(delivery))
            steps.append(nil)
        }
        steps[self.count] = unowned[self.count]._withUnsafeGuaranteedRef { delivery in
            delivery.clear()
            fill(delivery)
            return chain.open(
                delivery, taken: taken, now: now, wallClock: wallClock, count: count, isCounted: isCounted
            ).map(Chain.Step.ended)
        }
        self.count += 1
    }

    /// Gives out the delivery with this index, in exchange for one that is not used any more, and its step.
    public mutating func take(_ index: Int, inExchangeFor delivery: inout Delivery) -> Chain.Step? {
        // Looking at all of its parts counts references: the size of its value, which stays known, comes first.
        let size = delivery.unownedRecord._withUnsafeGuaranteedRef { $0.value?.count ?? 0 }
        if size > Self.usualSize, delivery.isLarge { delivery = Delivery() }
        swap(&deliveries[index], &delivery)
        unowned[index] = .passUnretained(deliveries[index])
        return steps[index].take()
    }

    private mutating func replace(_ index: Int, by delivery: Delivery) {
        deliveries[index] = delivery
        unowned[index] = .passUnretained(delivery)
    }
}
