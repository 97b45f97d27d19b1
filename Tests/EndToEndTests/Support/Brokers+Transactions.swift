import Testing

extension Trait where Self == ConditionTrait {
    /// The mock drops transactional offsets, fences nobody and shows what was aborted.
    static var needsTransactions: Self {
        .enabled(
            if: !Brokers.areMock,
            "needs a broker with real transactions: name one in PUSHMILL_TEST_BROKERS")
    }
}
