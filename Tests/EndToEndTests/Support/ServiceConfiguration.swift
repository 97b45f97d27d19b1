import Glibc

/// The configuration of a service under test, as far as tests vary it.
struct ServiceConfiguration: Sendable {
    var consumer: [(name: String, value: String)] = []
    var producer: [(name: String, value: String)] = [("linger.ms", "1")]
    var delivery: [(name: String, value: String)] = []
    var cores = 2
    /// One line each, such as `sleep: { marker: slow, time: 5s }`.
    var stages: [String] = []
    /// The file of the admin endpoint's token.
    var tokenFile: String?
    var listen = "127.0.0.1:0"
    var logLevel = "info"
    /// Beside the configuration unless it begins with a slash.
    var state = "state"
    /// Variables as `NAME=VALUE`, beside the tests' own.
    var environment: [String] = []

    func text(bootstrapServers: String, group: String, input: String, output: String, deadLetters: String) -> String {
        """
        kafka:
          bootstrap.servers: \(bootstrapServers)
          consumer:
            group.id: \(group)
            fetch.wait.max.ms: 50
        \(lines(consumer, indent: 4))
          producer:
        \(lines(producer, indent: 4))
        topics:
          input: [\(input)]
          output: \(output)
          dead-letter: \(deadLetters)
          badge-changelog: \(output)-badges
        delivery:
          cores: \(cores)
        \(lines(delivery, indent: 2))
        state:
          path: \(state)
        stages:
        \(stages.map { "  - \($0)" }.joined(separator: "\n"))
        admin:
          listen: \(listen)
        \(tokenFile.map { "  token-file: \($0)" } ?? "")
        log:
          format: json
          level: \(logLevel)
        """
    }

    private func lines(_ entries: [(name: String, value: String)], indent: Int) -> String {
        entries.map { "\(String(repeating: " ", count: indent))\($0.name): \($0.value)" }.joined(separator: "\n")
    }
}
