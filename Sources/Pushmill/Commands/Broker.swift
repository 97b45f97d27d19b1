import Glibc
import PushmillKafka
import PushmillStages

extension Command {
    static let broker = Command(
        name: "broker", summary: "Runs only the embedded broker, for experiments with kcat",
        details: """
            Prints its address on the first line, listens on loopback, and loses all records
            when it exits. Keeps 5 MB per partition, and creates any topic that a client
            asks for, with four partitions.
            """,
        options: [.topics]
    ) { invocation in
        let topics = try invocation.texts(.topics).map(topic)
        for (index, topic) in topics.enumerated() where topics[..<index].contains(where: { $0.name == topic.name }) {
            throw ProgramError.usage("--topic: '\(topic.name)' is named twice")
        }
        let signals = Signals.take([SIGTERM, SIGINT])
        let cluster = try explaining("cannot start the embedded broker") {
            let cluster = try MockCluster()
            for topic in topics { try cluster.createTopic(topic.name, partitions: topic.partitions) }
            return cluster
        }
        invocation.console.output(cluster.bootstrapServers)
        // Nobody would know its address.
        guard !Console.hasFailed else { return .success }
        _ = signals.next()
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
    fileprivate static let topics = repeated("topic", "NAME:PARTITIONS", "a topic to create at the start")
}
