import Kafka
import Push
import Telemetry

/// The thread that sees to outputs which were not stored. One refused for its size is first sent once more alone, since
/// a whole batch is refused for one record; one refused for good becomes a dead letter; any other is sent again.
final class Refusals: Sendable {
    private struct Refusal: Sendable {
        let tag: DeliveryTag
        let error: KafkaError
        let timestamp: Int64
        let returned: ReturnedRecord
    }

    private enum Message: Sendable {
        case refused(Refusal)
        case stop
    }

    private static let patience: Int32 = 5000

    private let mailbox = Mailbox<Message>()
    private let outputs: Outputs
    private let flow: Flow
    private let settings: WorkerSettings
    private let metrics: ServiceMetrics
    private let log: Log
    private let onKafkaLog: KafkaLogSink
    private let onRoom: @Sendable () -> Void

    init(
        outputs: Outputs, flow: Flow, settings: WorkerSettings, metrics: ServiceMetrics, log: Log,
        onKafkaLog: @escaping KafkaLogSink, onRoom: @escaping @Sendable () -> Void
    ) {
        self.outputs = outputs
        self.flow = flow
        self.settings = settings
        self.metrics = metrics
        self.log = log
        self.onKafkaLog = onKafkaLog
        self.onRoom = onRoom
    }
}
