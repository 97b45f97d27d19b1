import Glibc
import PushmillKafka
import PushmillStages

extension Command {
    static let broker = Command(
        name: "broker", summary: "Runs the embedded broker alone, for trying things with kcat",
        details: """
            Prints its address in the first line, listens on loopback, and forgets
            everything when it ends. It keeps 5 MB a partition, and makes any topic that
            is asked for, with four partitions.
            """,
        options: [.topics]
    ) { invocation in
        let topics = try invocation.texts(.topics).map(topic)
        for (index, topic) in topics.enumerated() where topics[..<index].contains(where: { $0.name == topic.name }) {
            throw ProgramError.usage("--topic: '\(topic.name)' is named twice")
        }
        let signals = Signals.take([SIGTERM, SIGINT])
        let cluster = try explaining("the embedded broker cannot run") {
            let cluster = try MockCluster()
            for topic in topics { try cluster.createTopic(topic.name, partitions: topic.partitions) }
            return cluster
        }
        invocation.console.output(cluster.bootstrapServers)
        // Nobody would know its address.
        guard !Console.hasFailed else { return .success }
        for await _ in signals { break }
        withExtendedLifetime(cluster) {}
        return .success
    }

    private static func topic(_ text: String) throws(ProgramError) -> (name: String, partitions: Int) {
        guard let colon = text.lastIndex(of: ":"), colon > text.startIndex,
            let count = Int(text[text.index(after: colon)...]), (1...10_000).contains(count)
        else { throw .usage("--topic: expected NAME:PARTITIONS, found '\(text)'") }
        return (String(text[..<colon]), count)
    }
}

extension Option {
    fileprivate static let topics = repeated("topic", "NAME:PARTITIONS", "a topic to begin with")
}
