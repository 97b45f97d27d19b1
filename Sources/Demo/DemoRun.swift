import PushmillKafka

/// Feeds sample events to a service, and shows what comes of each.
package final class DemoRun: Sendable {
    package struct Plan: Sendable {
        /// nil for as many as there is time for.
        package var events: Int?
        /// Events a second.
        package var rate = 10
        /// nil for as long as it takes.
        package var time: Duration?
        /// Only the summary.
        package var isQuiet = false

        package init() {}
    }

    /// How long results are waited for.
    private static let patience = Duration.seconds(15)

    private let plan: Plan
    private let servers: String
    private let board: DemoBoard
    private let show: @Sendable (String) -> Void

    /// `show` is given each result, to be printed.
    package init(_ plan: Plan, servers: String, board: DemoBoard, show: @escaping @Sendable (String) -> Void) {
        self.plan = plan
        self.servers = servers
        self.board = board
        self.show = show
    }

    /// Returns when the plan is fulfilled and everything has come out that does, or when `isOver`. Blocks.
    package func run(until isOver: @escaping @Sendable () -> Bool) throws -> DemoSummary {
        let feed = try DemoFeed(servers: servers)
        let results = try DemoResults(servers: servers)
        let clock = ContinuousClock()
        let start = clock.now
        var lastArrival = start
        var summary = DemoSummary()
        while !isOver() {
            let passed = clock.now - start
            let due = min(plan.events ?? .max, Int(passed / .seconds(1) * Double(plan.rate)) + 1)
            let hasTime = plan.time.map { passed < $0 } ?? true
            while hasTime, summary.sent < due, !isOver() {
                try feed.send()
                summary.sent += 1
                lastArrival = clock.now
            }
            feed.poll()
            for record in results.poll() {
                defer { record.destroy() }
                guard let (event, sent) = feed.take(record) else { continue }
                lastArrival = clock.now
                let result = DemoResult(event, record)
                summary.add(result, time: lastArrival - sent)
                board.add(result)
                if !plan.isQuiet { show(result.text) }
            }
            let isFed = !hasTime || summary.sent == plan.events
            if isFed, summary.count == summary.sent || clock.now - lastArrival > Self.patience { break }
        }
        return summary
    }
}
