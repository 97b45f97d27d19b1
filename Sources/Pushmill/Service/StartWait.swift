import Glibc
import PushmillKafka
import PushmillStages
import PushmillTelemetry

/// A start that waits for what is outside of this process: brokers, what they let it do, their topics. Says why it waits,
/// to readiness and in the log, when that changes and from time to time.
struct StartWait {
    private static let toldEvery = Duration.seconds(5)
    /// Between two attempts. Brokers are back before anybody waits for them; what people have to mend takes them longer,
    /// and an account may be locked for too many wrong passwords.
    private static let shortPause = Duration.milliseconds(500)
    private static let longPause = Duration.seconds(5)
    /// How soon it sees that it is to end.
    private static let step = Duration.milliseconds(100)

    let log: Log
    let handle: EngineHandle

    /// Tries until it succeeds; throws what nothing outside of this process can mend.
    func run<Result>(_ body: () throws(ProgramError) -> Result) throws(ProgramError) -> Result {
        var attempt = 1
        var told: (reason: String, at: Instant)?
        while true {
            let problem: ProbeReason
            do throws(ProgramError) {
                return try body()
            } catch .outside(let reason) {
                problem = reason
            }
            handle.waits(for: problem)
            let now = TimeSource.system.now
            if told.map({ $0.reason != problem.reason || $0.at + Self.toldEvery <= now }) ?? true {
                told = (problem.reason, now)
                log.warning(
                    "the service cannot start yet: it waits",
                    [.reason(problem.reason), .attempt(attempt), .error(text: problem.detail)])
            }
            attempt += 1
            try pause(["no-broker", "starting"].contains(problem.reason) ? Self.shortPause : Self.longPause)
        }
    }

    private func pause(_ time: Duration) throws(ProgramError) {
        let end = TimeSource.system.now + time
        while TimeSource.system.now < end {
            guard !Signals.isEndWanted else { throw .interrupted }
            usleep(UInt32(Self.step / .microseconds(1)))
        }
    }
}

extension ProbeReason {
    static func starting(_ detail: String) -> ProbeReason { ProbeReason("starting", detail) }

    static func unknownTopic(_ name: String, setting: String) -> ProbeReason {
        ProbeReason(
            "unknown-topic", "the brokers know no topic \(name): create it, or correct it under \(setting)")
    }

    /// Why nothing can be learned of a topic that may be there.
    static func topic(_ name: String, _ error: KafkaError) -> ProbeReason {
        let detail = "nothing can be learned of the topic \(name): \(error)"
        return error.isForbidden ? ProbeReason("not-authorized", detail) : .starting(detail)
    }
}
