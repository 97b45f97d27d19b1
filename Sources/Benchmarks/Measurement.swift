import CPushmillAllocations
import Glibc
package import PushmillPayload

/// The cost of one message in a piece of the chain, on one thread, once every buffer has grown to its size.
package struct Measurement: Sendable {
    package let name: String
    /// CPU time of this thread in the best of several batches: anything above is noise of other processes.
    package let nanoseconds: Double
    /// Allocations by the Swift runtime per message: objects, array and string storage, boxes, the memory of pointers
    /// and tasks; not what C libraries allocate for themselves.
    package let allocations: Double
    /// Retains and releases per message: each is an atomic operation.
    package let references: Double

    /// Slices of a batch: each is short enough to end before another thread gets the core.
    private static let slices = 10

    /// Runs `body` `messages` times per batch. Times are measured while allocations are not counted.
    package init<E: Error>(
        _ name: String, messages: Int = 20_000, batches: Int = 20, _ body: () throws(E) -> Void
    ) throws(E) {
        self.name = name
        var best = Double.infinity
        let batch = max(1, messages / Self.slices)
        for _ in 0..<batches * Self.slices {
            let start = Self.threadNanoseconds()
            for _ in 0..<batch { try body() }
            best = min(best, Self.threadNanoseconds() - start)
        }
        nanoseconds = best / Double(batch)
        let referencesBefore = pushmill_references_of_this_thread()
        let count = try Self.allocations { () throws(E) in
            for _ in 0..<messages { try body() }
        }
        references = Double(pushmill_references_of_this_thread() - referencesBefore) / Double(messages)
        allocations = Double(count) / Double(messages)
    }

    /// How often the Swift runtime allocates on this thread while `body` runs.
    package static func allocations<E: Error>(_ body: () throws(E) -> Void) throws(E) -> Int {
        pushmill_allocations_start()
        defer { pushmill_allocations_stop() }
        let before = pushmill_allocations_of_this_thread()
        try body()
        return Int(pushmill_allocations_of_this_thread() - before)
    }

    static func threadNanoseconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}

extension Measurement {
    /// The cost of the payload itself, whatever the stages do.
    package static func payload(messages: Int = 20_000) throws(PayloadError) -> [Measurement] {
        let sample = Array(PayloadSample.json.utf8)
        var content = NotificationContent()
        var output: [UInt8] = []
        return try sample.withUnsafeBufferPointer { (sample) throws(PayloadError) in
            let payload = UnsafeRawBufferPointer(sample)
            return [
                try Measurement("read", messages: messages) { () throws(PayloadError) in
                    try content.read(payload)
                },
                try Measurement("gate, read, three edits, render", messages: messages) { () throws(PayloadError) in
                    try PayloadSample.turn(payload, &content, &output)
                },
            ]
        }
    }
}

/// One message of 400 bytes, and the usual edits.
package enum PayloadSample {
    package static let json = """
        {"aps":{"alert":{"title-loc-key":"GROUP_MESSAGE","title-loc-args":["{contact:c48213}","Sailing club"],\
        "body":"(Encrypted)"},"mutable-content":1,"badge":1,"category":"MESSAGE","sound":"default",\
        "thread-id":"room-48213"},"ENCRYPTED_DATA":"eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIiwia2lkIjoiazEifQ..\
        dlEb5kdcrRTUZTOG.V9Bzj7ZATleZ4QyyJwnT1xKc8pYzgQ4tFv2cHd7a.nv07VmGlsNF0FcDgr6ONig","sender":"c48213","sent":1700000000}
        """

    /// Gate, read, three string edits and render; `output` then holds the payload.
    package static func turn(
        _ payload: UnsafeRawBufferPointer, _ content: inout NotificationContent, _ output: inout [UInt8]
    ) throws(PayloadError) {
        try content.read(payload)
        guard content.isMutable, content.hasAlertText else { return }
        content.setText(.title, to: "Zoë Martin in Sailing club")
        content.setText(.subtitle, to: "3 new messages")
        content.setText(.body, to: "The wind is up, see you at the harbour at six?")
        output.removeAll(keepingCapacity: true)
        content.render(into: &output)
    }
}
