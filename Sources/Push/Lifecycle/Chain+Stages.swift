/// What happens to a message whose time is up.
extension Chain {
    /// The `nextWakeUp` of a waiting delivery has come. Called on its lane.
    public func timer(_ delivery: Delivery, now: Instant) -> TimerStep {
        guard now >= delivery.nextWakeUp else { return .early }
        guard delivery.claim.seize() else { return .nothing }
        observer?.stageAbandoned(delivery.position, isLate: true)
        var content = delivery.takeContent()
        defer { delivery.content = content }
        guard now < delivery.deadline else { return .ended(lastChance(delivery, &content)) }
        expire(delivery, &content, context(delivery))
        return .run
    }

    /// The deadline of a waiting delivery has come and its lane's thread is stuck. Called on any other thread. With a
    /// verdict the delivery is the caller's for good: it is not to be used again.
    public func expireFromOutside(_ delivery: Delivery, now: Instant) -> Verdict? {
        guard delivery.claim.seizeForGood(now: now) else { return nil }
        observer?.stageAbandoned(delivery.position, isLate: true)
        var content = delivery.takeContent()
        defer { delivery.content = content }
        return lastChance(delivery, &content)
    }

    /// Nothing is to come of a waiting delivery, which is not to be used again. False when it has left its stage already.
    public func giveUp(_ delivery: Delivery) -> Bool {
        guard delivery.claim.seizeForGood(now: .never) else { return false }
        observer?.stageAbandoned(delivery.position, isLate: false)
        return true
    }

    /// The edits of the stages that have not ended, the running one included, and the best attempt that comes of them.
    func lastChance(_ delivery: Delivery, _ content: inout NotificationContent) -> Verdict {
        let context = context(delivery)
        while delivery.position < links.count { expire(delivery, &content, context) }
        return finish(delivery, &content, .bestAttempt)
    }

    /// The last-chance edit of the stage whose turn it is.
    private func expire(_ delivery: Delivery, _ content: inout NotificationContent, _ context: StageContext) {
        let index = delivery.position
        let link = links[index]
        var context = context
        context.stage = index
        let applies = link.applies(to: content, delivery.record)
        let result = applies ? link.stage.timeWillExpire(&content, context: context) : .skipped
        note(result, of: index, delivery, content)
        delivery.position = index + 1
    }
}
