package import Push

extension Measurement {
    /// What keeping counts costs: a recipient's count found and changed, and settled when the output is acknowledged.
    package static func counts(recipients: Int = 10_000, messages: Int = 20_000) throws -> [Measurement] {
        let names = (0..<recipients).map { Array("user-\($0)".utf8) }
        let app = Array("com.example.messenger".utf8)
        var live = LiveCounts(capacity: recipients)
        var settled = SettledCounts()
        let lease = CountLease()
        var next = 0
        func turn(_ settle: Bool) throws(StoreError) {
            next = next + 1 < recipients ? next + 1 : 0
            let (name, app) = (names[next], app)
            let slot = try live.begin(recipient: name.span.bytes, app: app.span.bytes, lease: lease) { 0 }
            guard let slot else { throw .damaged(path: "memory", what: "the sample's count is taken") }
            live.end(slot, settle ? .add(1) : nil)
            guard settle else { return }
            settled.acknowledge(slot.change(.add(1)), of: SourceOffset(assignment: 0, offset: 0)) { _ in }
        }
        return [
            try Measurement("badge, a count in memory", messages: messages) { () throws(StoreError) in
                try turn(false)
            },
            try Measurement("badge, a count changed and settled", messages: messages) { () throws(StoreError) in
                try turn(true)
            },
        ]
    }
}
