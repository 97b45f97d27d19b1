import PushmillKafka

/// How sample events are fed to a service.
package struct DemoPlan: Sendable {
    /// nil for as many as there is time for.
    package var events: Int?
    /// Events per second.
    package var rate = 10
    /// nil for as long as it takes.
    package var time: Duration?
    package var isQuiet = false

    private static let patience = Duration.seconds(15)

    package init() {}

    /// Returns once all events are sent and no more results come, or when `isOver`. Blocks. Calls `show` with each
    /// result to print.
    package func run(
        servers: String, board: DemoBoard, until isOver: () -> Bool, show: (String) -> Void
    ) throws -> DemoSummary {
        let feed = try DemoFeed(servers: servers)
        let results = try DemoResults(servers: servers)
        let clock = ContinuousClock()
        let start = clock.now
        var lastArrival = start
        var summary = DemoSummary()
        while !isOver() {
            let passed = clock.now - start
            let due = min(events ?? .max, Int(passed / .seconds(1) * Double(rate)) + 1)
            let hasTime = time.map { passed < $0 } ?? true
            while hasTime, summary.sent < due, !isOver(), try feed.send(until: isOver) {
                summary.sent += 1
                lastArrival = clock.now
            }
            feed.poll()
            for record in results.poll() {
                guard let (event, sent) = feed.take(record) else { continue }
                lastArrival = clock.now
                let result = DemoResult(event, record)
                summary.add(result, time: lastArrival - sent)
                board.add(result)
                if !isQuiet { show(result.text) }
            }
            let isFed = !hasTime || summary.sent == events
            if isFed, summary.count == summary.sent || clock.now - lastArrival > Self.patience { break }
        }
        return summary
    }
}

/// What a service needs for the sample events: stages, keys, contacts. `deploy/sample` has the same, for services that
/// the demo feeds.
package enum DemoFiles {
    /// By their paths relative to the configuration.
    package static let all = [
        "keys.jwks.json": PackageResources.keys_jwks_json, "contacts.jsonl": PackageResources.contacts_jsonl,
        "catalog/Localizable.xcstrings": PackageResources.Localizable_xcstrings,
    ]

    /// The `stages` section of a configuration.
    package static let stages = """
        stages:
          - decrypt:
              keys: keys.jwks.json
              formats: [jwe, openssl, aes-gcm, chacha20-poly1305]
              key-id-from: [/ENCRYPTION_KEY_ID]
          - localize: { catalog: catalog, default-locale: en }
          - contact: { source: contacts.jsonl }
          - badge: { mode: increment }

        """
}
