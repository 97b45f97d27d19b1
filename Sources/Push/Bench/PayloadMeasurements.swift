extension Measurement {
    /// What the payload itself costs, whatever the stages do.
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

/// One message of 400 bytes and what is usually done to it.
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
