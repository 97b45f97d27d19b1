/// What those who publish must know of transactions.
struct OutputTransactions: Sendable {
    let gate = Gate()
    let trial = Trial()
}
