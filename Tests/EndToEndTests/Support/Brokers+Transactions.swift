import Testing

extension Trait where Self == ConditionTrait {
    /// The mock drops transactional offsets, fences no producer, and shows aborted records.
    static var needsTransactions: Self {
        .enabled(
            if: !Brokers.areMock,
            "needs a broker with real transactions: name one in PUSHMILL_TEST_BROKERS")
    }
}
