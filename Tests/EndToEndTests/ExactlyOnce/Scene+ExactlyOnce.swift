extension ServiceConfiguration {
    /// The instance of that number. Odd ones are static members of the group: they return without a rebalance.
    static func exactlyOnce(_ number: Int, of scene: Scene) -> ServiceConfiguration {
        var configuration = ServiceConfiguration()
        configuration.delivery = [("guarantee", "exactly-once"), ("checkpoint-interval", "100ms")]
        if number % 2 == 1 { configuration.consumer = [("group.instance.id", "instance-\(number)")] }
        configuration.producer += [("transactional.id", "\(scene.group)-\(number)")]
        configuration.state = "state-\(number)/state.sqlite"
        return configuration
    }
}

extension Scene {
    /// All committed outputs, read again from the beginning.
    func allOutputs() async throws -> [Arrival] {
        let known = outputs.all.count
        let reader = try readOutputs()
        defer { reader.stop() }
        return try await reader.wait(count: known)
    }
}
