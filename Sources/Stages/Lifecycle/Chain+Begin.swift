public import PushmillPayload

/// The start of a message's turn: what is decided before any stage runs.
extension Chain {
    /// The most bytes of a recipient and its app. A longer account has no count: a changelog could not take it.
    private static var longestAccount: Int { 4096 }

    /// The account whose count the message may change: the recipient in the app of its `apns-topic`; nil if there is
    /// none. The bytes belong to the record.
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

    /// The delivery must be clear and its record filled. `taken` is when the record came from the input. `wallClock`,
    /// in milliseconds since 1970, decides whether it has expired. `count` is the account's before this message, nil if
    /// there is no account or nothing counts; if the message `isCounted` in it, it is shown unchanged. The deadline
    /// runs from now on; a message that waited that long for its turn, or whose `taken` is nil, gets only last-chance
    /// edits.
    public func begin(
        _ delivery: Delivery, taken: Instant?, now: Instant, wallClock: Int64, count: Int32?, isCounted: Bool = false
    ) -> Step {
        let verdict = open(
            delivery, taken: taken, now: now, wallClock: wallClock, count: count, isCounted: isCounted)
        return verdict.map(Step.ended) ?? runStages(delivery, &delivery.content, now: now)
    }

    /// What `begin` does before the stages. Nil if they are to run.
    func open(
        _ delivery: Delivery, taken: Instant?, now: Instant, wallClock: Int64, count: Int32?, isCounted: Bool
    ) -> Verdict? {
        guard case .clear = delivery.phase else { preconditionFailure("a delivery is cleared before it begins") }
        delivery.phase = .ended
        delivery.isCounted = isCounted
        let latestTurn = taken?.advanced(nanoseconds: deadlineNanoseconds) ?? .past
        // A message whose turn comes too late has a deadline in the past, which `gate` sees.
        let deadline = now < latestTurn ? now.advanced(nanoseconds: deadlineNanoseconds) : latestTurn
        return delivery.unownedRecord._withUnsafeGuaranteedRef { record in
            let count = hasCountingStage ? count : nil
            return read(delivery, record, deadline, wallClock: wallClock, count: count)
                ?? open(delivery, record, &delivery.content, now: now)
        }
    }

    /// Record and content are parameters besides the delivery, because each call that reads a member of a class copies
    /// or retains it.
    private func open(
        _ delivery: Delivery, _ record: InputRecord, _ content: inout NotificationContent, now: Instant
    ) -> Verdict? {
        observer?.stagesWillBegin(content)
        return gate(delivery, record, &content, now: now)
    }

    /// Nil if there is a payload.
    private func read(
        _ delivery: Delivery, _ record: InputRecord, _ deadline: Instant, wallClock: Int64, count: Int32?
    ) -> Verdict? {
        delivery.prepare(record, stages: links.count, deadline: deadline, wallClock: wallClock, count: count)
        guard let value = record.value else {
            return deadLetter(delivery, .nullValue, message: "the record has no value")
        }
        do throws(PayloadError) {
            guard try readPayload(value, of: record, delivery) else {
                return deadLetter(
                    delivery, .nullValue, message: "the CloudEvent has no data, or its data is not base64")
            }
        } catch {
            return deadLetter(delivery, DeadLetterReason(error), message: error.description)
        }
        delivery.untouched = delivery.content.savepoint()
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

    /// Nil if the stages are to run.
    private func gate(
        _ delivery: Delivery, _ record: InputRecord, _ content: inout NotificationContent, now: Instant
    ) -> Verdict? {
        let isExpired = record.hasExpired(at: delivery.wallClock)
        if isExpired, !settings.publishesExpired { return Verdict(.expired, to: .nowhere) }

        let showsText = content.hasAlertText
        let isOpen = showsText && content.isMutable
        if isOpen, !isExpired { return now < delivery.deadline ? nil : lastChance(delivery, &content) }
        if hasCountingStage, !showsText, content.badge == 0 { count(delivery, &content, isClearing: true) }
        if isOpen { count(delivery, &content, isClearing: false) }
        return publishAsItCame(delivery, &content, isExpired ? .expired : .passed)
    }

    /// Counts payloads that the stages do not see otherwise: clearing pushes, expired messages and originals.
    func count(_ delivery: Delivery, _ content: inout NotificationContent, isClearing: Bool) {
        guard hasCountingStage else { return }
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
            // For an original, the stage has reported this failure already.
            if case .failed = result, result == delivery.results[index] { continue }
            note(result, of: index, delivery, content)
        }
    }
}
