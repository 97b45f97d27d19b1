import Kafka
import Testing

@testable import Worker

struct TrialTests {
    private let record = Position(TopicPartition("t", 1), offset: 7)
    private let conviction = Trial.Conviction(reason: "MSG_SIZE_TOO_LARGE", isLetterRefused: false)

    @Test("Who is convicted stays so until the record is done")
    func closing() {
        let trial = Trial()
        #expect(trial.conviction(of: record) == nil)
        trial.convict(record, conviction)
        #expect(trial.conviction(of: record)?.reason == "MSG_SIZE_TOO_LARGE")
        #expect(trial.conviction(of: Position(TopicPartition("t", 1), offset: 8)) == nil)
        trial.close { _ in false }
        #expect(trial.conviction(of: record) != nil)
        trial.close { $0 == record }
        #expect(trial.conviction(of: record) == nil)
    }

    @Test("Who takes over the partition finds out for itself")
    func forgetting() {
        let trial = Trial()
        trial.convict(record, conviction)
        trial.forget([TopicPartition("t", 2), TopicPartition("u", 1)])
        #expect(trial.conviction(of: record) != nil)
        trial.forget([TopicPartition("t", 1)])
        #expect(trial.conviction(of: record) == nil)
    }

    @Test("A dead letter that is refused too has its record convicted for that")
    func letters() {
        let trial = Trial()
        trial.convict(record, conviction)
        trial.convict(record, Trial.Conviction(reason: "MSG_SIZE_TOO_LARGE", isLetterRefused: true))
        #expect(trial.conviction(of: record)?.isLetterRefused == true)
    }
}
