public import PushmillPayload

/// A message's turn: what can be said of it before any stage runs.
extension Chain {
    /// Bytes of a recipient and the app. What is longer is nobody's: a changelog could not take its count.
    private static var longestAccount: Int { 4096 }

    /// Whose count the record's message may change: its recipient's, in the app of its `apns-topic`. Nil where nobody's.
    /// The bytes are the record's.
    public static func account(
        of record: InputRecord
    ) -> (recipient: UnsafeRawBufferPointer, app: UnsafeRawBufferPointer?)? {
        let app = record.app
        guard let recipient = record.recipient, isAccount(recipient, app) else { return nil }
        return (recipient, app)
    }

    /// Whether a recipient in an app can have a count.
    public static func isAccount(_ recipient: UnsafeRawBufferPointer, _ app: UnsafeRawBufferPointer?) -> Bool {
        !recipient.isEmpty && recipient.count + (app?.count ?? 0) <= longestAccount
    }

    /// The delivery is clear and its record has been filled. `taken` is when that came from the input, `wallClock` the
    /// milliseconds since 1970 by which it may have expired, `count` its account's before this message, nil where there
    /// is no account or nothing counts; if the message `isCounted` in it, it is shown and not changed. The deadline starts
    /// now; a message that has waited as long as that for its turn gets last-chance edits alone.
    public func begin(
        _ delivery: Delivery, taken: Instant, now: Instant, wallClock: Int64, count: Int32?, isCounted: Bool = false
    ) -> Step {
        guard case .clear = delivery.phase else { preconditionFailure("a delivery is cleared before it begins") }
        delivery.phase = .ended
        delivery.isCounted = isCounted
        let record = delivery.record
        let latestTurn = taken.advanced(nanoseconds: patience)
        // A message whose turn comes too late has a deadline that is over, which `gate` sees.
        let deadline = now < latestTurn ? now.advanced(nanoseconds: patience) : latestTurn
        if let verdict = read(delivery, record, deadline, wallClock: wallClock, count: counts ? count : nil) {
            return .ended(verdict)
        }
        return begin(delivery, record, &delivery.content, now: now)
    }

    /// Record and content are passed beside their delivery: a member of a class is copied, or retained, for each call
    /// that reads it.
    private func begin(
        _ delivery: Delivery, _ record: InputRecord, _ content: inout NotificationContent, now: Instant
    ) -> Step {
        observer?.stagesWillBegin(content)
        if let verdict = gate(delivery, record, &content, now: now) { return .ended(verdict) }
        return runStages(delivery, &content, now: now)
    }

    /// Nil where there is a payload.
    private func read(
        _ delivery: Delivery, _ record: InputRecord, _ deadline: Instant, wallClock: Int64, count: Int32?
    ) -> Verdict? {
        delivery.prepare(record, stages: links.count, deadline: deadline, wallClock: wallClock, count: count)
        guard let value = record.value else {
            return deadLetter(delivery, .nullValue, message: "the record has no value")
        }
        do throws(PayloadError) {
            guard try readPayload(value, of: record, delivery) else {
                return deadLetter(delivery, .nullValue, message: "the CloudEvent has no data, or none that is base64")
            }
        } catch {
            return deadLetter(delivery, DeadLetterReason(error), message: error.description)
        }
        delivery.untouched = delivery.content.mark()
        return nil
    }

    /// False for an event without data.
    private func readPayload(
        _ value: UnsafeRawBufferPointer, of record: InputRecord, _ delivery: Delivery
    ) throws(PayloadError) -> Bool {
        let type = record.value(of: .contentType)
        delivery.isStructured = type.map(CloudEvent.isStructured) ?? false
        guard delivery.isStructured else {
            try delivery.content.read(value)
            return true
        }
        var event = delivery.event.take() ?? CloudEvent()
        defer { delivery.event = event }
        guard try event.read(value) else { return false }
        try event.readData(into: &delivery.content)
        return true
    }

    /// Nil where the stages are to run.
    private func gate(
        _ delivery: Delivery, _ record: InputRecord, _ content: inout NotificationContent, now: Instant
    ) -> Verdict? {
        let isExpired = record.hasExpired(at: delivery.wallClock)
        if isExpired, !settings.publishesExpired { return Verdict(.expired, to: .nowhere) }

        let showsText = content.hasAlertText
        let isOpen = showsText && content.isMutable
        if isOpen, !isExpired { return now < delivery.deadline ? nil : lastChance(delivery, &content) }
        if counts, !showsText, content.badge == 0 { count(delivery, &content, isClearing: true) }
        if isOpen { count(delivery, &content, isClearing: false) }
        return publishAsItCame(delivery, &content, isExpired ? .expired : .passed)
    }

    /// For payloads that the stages do not see otherwise: a clearing push, what has expired, and an original.
    func count(_ delivery: Delivery, _ content: inout NotificationContent, isClearing: Bool) {
        guard counts else { return }
        var context = context(delivery)
        for (index, link) in links.enumerated() {
            guard let stage = link.counting, link.applies(to: content, delivery) else { continue }
            context.stage = index
            let result: StageResult
            if isClearing {
                (content.badgeOperation, result) = stage.didPass(clearing: content, context: context)
            } else {
                result = stage.timeWillExpire(&content, context: context)
            }
            // Of an original it has said so already.
            if case .failed = result, result == delivery.results[index] { continue }
            note(result, of: index, delivery, content)
        }
    }
}
