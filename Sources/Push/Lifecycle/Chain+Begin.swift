/// A message's turn: what can be said of it before any stage runs.
extension Chain {
    /// The delivery's record has been filled. `taken` is when it came from the input, `wallClock` the milliseconds since
    /// 1970 by which it may have expired. A message that is late for its deadline gets its last-chance edits here.
    public func begin(_ delivery: Delivery, taken: Instant, now: Instant, wallClock: Int64) -> Step {
        delivery.prepare(stages: links.count, deadline: taken + settings.deadline, wallClock: wallClock)
        guard let value = delivery.record.value else {
            return .ended(deadLetter(delivery, .nullValue, message: "the record has no value"))
        }
        var content = delivery.takeContent()
        defer { delivery.content = content }
        do throws(PayloadError) {
            guard try read(value, into: &content, delivery) else {
                return .ended(deadLetter(delivery, .nullValue, message: "the CloudEvent has no data"))
            }
        } catch {
            return .ended(deadLetter(delivery, DeadLetterReason(error), message: error.description))
        }
        delivery.untouched = content.mark()
        return gate(delivery, &content, now: now)
    }

    /// False for an event without data.
    private func read(
        _ value: UnsafeRawBufferPointer, into content: inout NotificationContent, _ delivery: Delivery
    ) throws(PayloadError) -> Bool {
        let type = delivery.record.value(of: .contentType)
        delivery.isStructured = type.map(CloudEvent.isStructured) ?? false
        guard delivery.isStructured else {
            try content.read(value)
            return true
        }
        var event = delivery.event.take() ?? CloudEvent()
        defer { delivery.event = event }
        guard try event.read(value) else { return false }
        try event.readData(into: &content)
        return true
    }

    private func gate(_ delivery: Delivery, _ content: inout NotificationContent, now: Instant) -> Step {
        let isExpired = delivery.record.hasExpired(at: delivery.wallClock)
        if isExpired, !settings.publishesExpired { return .ended(Verdict(.expired, to: .nowhere)) }

        let showsText = content.hasAlertText
        let isOpen = showsText && content.isMutable
        let isClearing = counts && !showsText && content.badge == 0
        if counts, isOpen || isClearing, !readCount(delivery) { return .notYet }

        if isOpen, !isExpired {
            return now < delivery.deadline ? .run : .ended(lastChance(delivery, &content))
        }
        if isClearing { clear(delivery, &content) }
        if isOpen { countExpired(delivery, &content) }
        return .ended(publishAsItCame(delivery, &content, isExpired ? .expired : .passed))
    }

    /// Bytes of a recipient and the app. What is longer is nobody's: a changelog could not take its count.
    private static var longestAccount: Int { 4096 }

    /// False if the count is there but cannot be read now.
    private func readCount(_ delivery: Delivery) -> Bool {
        guard let host = delivery.host, let recipient = delivery.record.recipient, !recipient.isEmpty,
            recipient.count + (delivery.record.app?.count ?? 0) <= Self.longestAccount
        else { return true }
        delivery.count = host.count(delivery)
        return delivery.count != nil
    }

    private func clear(_ delivery: Delivery, _ content: inout NotificationContent) {
        forEachCountingStage(delivery, &content) { stage, content, context in
            let (operation, result) = stage.didPass(clearing: content, context: context)
            content.badgeOperation = operation
            return result
        }
    }

    private func countExpired(_ delivery: Delivery, _ content: inout NotificationContent) {
        forEachCountingStage(delivery, &content) { stage, content, context in
            stage.timeWillExpire(&content, context: context)
        }
    }

    private func forEachCountingStage(
        _ delivery: Delivery, _ content: inout NotificationContent,
        _ body: (any CountingStage, inout NotificationContent, StageContext) -> StageResult
    ) {
        var context = context(delivery)
        for (index, link) in links.enumerated() {
            guard let stage = link.counting, link.applies(to: content, delivery.record) else { continue }
            context.stage = index
            let result = body(stage, &content, context)
            note(result, of: index, delivery, content)
        }
    }
}
