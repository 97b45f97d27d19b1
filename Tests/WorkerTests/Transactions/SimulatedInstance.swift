@testable import Worker

/// One instance of the service with what it holds in memory.
final class SimulatedInstance {
    let name: Int
    var machine = TransactionMachine()
    private(set) var action: TransactionMachine.Action
    var epoch = 0
    /// The generation that it believes in; nil while it does not serve the partition.
    var generation: Int?
    /// Since the transaction began.
    var hasLost = false
    var next = 0
    var badge = 0

    init(name: Int) {
        self.name = name
        action = machine.start()
    }

    func then(_ next: TransactionMachine.Action) { action = next }

    /// What is wanted may leave everything as it is.
    func want(_ next: TransactionMachine.Action) {
        if next != .none { action = next }
    }
}
