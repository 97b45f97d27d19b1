internal import Dispatch
internal import Glibc
internal import Synchronization

/// Questions that brokers are asked until they have answered, since time says nothing about a log: on a dispatch queue
/// of their own, because librdkafka's calls block.
final class Questions<Question: Hashable & Sendable, Answer>: Sendable {
    /// Called on the dispatch queue.
    typealias Take = @Sendable (Answer) -> Void
    /// Asks once, and passes on each answer. Questions without an answer are asked again.
    typealias Attempt = (_ asked: Set<Question>, _ answer: (Question, Answer) -> Void) -> Void

    private struct State {
        /// The number of each open question, and who takes its answer. Answers to questions from before it was
        /// forgotten or asked again do not count.
        var open: [Question: (number: UInt64, take: Take)] = [:]
        var lastNumber: UInt64 = 0
        var isRunning = false
    }

    private let attempt: @Sendable () -> Attempt
    private let queue: DispatchQueue
    private let state = Mutex(State())

    /// `attempt` is evaluated when a question is asked while none is open, and its value kept as long as one is.
    init(_ label: String, attempt: @autoclosure @escaping @Sendable () -> Attempt) {
        self.attempt = attempt
        queue = DispatchQueue(label: label)
    }

    func ask(_ questions: [Question], _ take: @escaping Take) {
        let isFirst = state.withLock { state in
            state.lastNumber += 1
            for question in questions { state.open[question] = (state.lastNumber, take) }
            return !exchange(&state.isRunning, with: true)
        }
        if isFirst { queue.async { self.run() } }
    }

    func forget(where isMeant: (Question) -> Bool) {
        state.withLock { state in state.open = state.open.filter { !isMeant($0.key) } }
    }

    /// Stops asking. An attempt that is under way keeps its client alive.
    func close() { forget { _ in true } }

    private func run() {
        let attempt = attempt()
        while true {
            let asked = state.withLock { state in
                state.isRunning = !state.open.isEmpty
                return state.open.mapValues(\.number)
            }
            if asked.isEmpty { return }
            var left = Set(asked.keys)
            attempt(left) { question, answer in
                left.remove(question)
                let take = state.withLock { state -> Take? in
                    guard let open = state.open[question], open.number == asked[question] else { return nil }
                    state.open[question] = nil
                    return open.take
                }
                take?(answer)
            }
            if !left.isEmpty { usleep(100_000) }
        }
    }
}

extension Questions where Question == Position, Answer == Record? {
    /// Reads the records at these positions, with a reader of its own; nil if the log holds none there. Each is lent
    /// for the call. `properties` are a group consumer's.
    static func records(_ properties: ClientProperties, log: @escaping KafkaLogSink) -> Attempt {
        var properties = properties
        // A follower may lag behind what its leader has acknowledged.
        properties["client.rack"] = nil
        properties["queued.min.messages"] = "1"
        var reader: PartitionReader?
        return { asked, answer in
            do throws(KafkaError) {
                if reader == nil { reader = try PartitionReader(properties, tellsEnds: true, log: log) }
                // Each for a bounded time, since there may be others to look at.
                for asked in Dictionary(grouping: asked, by: \.partition.topic).values {
                    try reader?.look(at: asked, answer)
                }
            } catch {
                // Files with secrets may be in the middle of a replacement.
                usleep(1_000_000)
            }
        }
    }
}
