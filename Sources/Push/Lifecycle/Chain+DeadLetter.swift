extension Chain {
    /// Makes the delivery's record a dead letter: as it came, with what is wrong in headers that replace earlier ones. At
    /// any time once the record has been filled. `counted` tells `redrive` that its badge has counted.
    public func deadLetter(
        _ delivery: Delivery, _ reason: DeadLetterReason, message: String, counted: Bool = false
    ) -> Verdict {
        let record = delivery.record
        if !counted { delivery.badgeOperation = nil }
        delivery.output.clear()
        delivery.output.setValue(record.value)
        delivery.output.remove(KnownHeader.stages.name)
        func put(_ name: StaticString, _ write: (inout [UInt8]) -> Void) {
            delivery.output.remove(name)
            delivery.output.add(name, write)
        }
        put(KnownHeader.outcome.name) { $0.append(Outcome.deadLetter.name) }
        put(KnownHeader.source.name) { $0.append(record.source) }
        put("pushmill.error.reason") { $0.append(reason.name) }
        put("pushmill.error.message") {
            $0.append(contentsOf: String(decoding: message.utf8.prefix(messageLimit), as: UTF8.self).utf8)
        }
        put("pushmill.error.stage") { $0.append(reason.step) }
        put("pushmill.error.topic") { $0.append(contentsOf: record.source.topic.name.utf8) }
        put("pushmill.error.partition") { $0.append(decimal: record.source.partition) }
        put("pushmill.error.offset") { $0.append(decimal: record.source.offset) }
        put("pushmill.error.attempt") { $0.append(decimal: record.attempt.addingReportingOverflow(1).partialValue) }
        if counted { put(KnownHeader.counted.name) { $0.append("true") } }
        return Verdict(.deadLetter, to: .deadLetters, reason)
    }
}

private let messageLimit = 512
