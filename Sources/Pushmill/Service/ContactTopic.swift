import PushmillKafka

/// The topic of which the embedded store's contacts are a copy.
package struct ContactTopic: Sendable, Equatable {
    let name: String
    /// Its partitions come and go with those of the input.
    let isCoPartitioned: Bool

    /// Whatever keeps a service from starting.
    func check(beside inputs: [String], _ consumer: ClientProperties) throws(ProgramError) {
        guard isCoPartitioned else { return }
        let topics = try TopicPartitions(consumer)
        let found = try topics.count(of: name, named: "stages.contact.source")
        for input in inputs {
            let wanted = try topics.count(of: input, named: "topics")
            try TopicPartitions.compare(
                (name, found), with: (input, wanted), why: "a recipient's contacts lie",
                remedy: "create another, or leave stages.contact.co-partitioned out")
        }
    }
}
