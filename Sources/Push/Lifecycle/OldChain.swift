/// The chain as the lanes run it: in tasks of theirs, with claims for the deliveries.
extension Chain {
    public enum OldStep: Sendable, Equatable {
        case ended(Verdict)
        /// `run` is to be called.
        case run
        /// The recipient's count cannot be read now: `begin` is to be called again.
        case notYet
    }

    public enum TimerStep: Sendable, Equatable {
        case ended(Verdict)
        /// The stage has used up its budget: `run` is to be called again, in a new task, since the old one is the stage's.
        case run
        /// `nextWakeUp` has not come yet.
        case early
        /// No stage is waiting: it has returned, or another thread has the delivery.
        case nothing
    }

    /// The delivery's record has been filled. `taken` is when it came from the input, `wallClock` the milliseconds since
    /// 1970 by which it may have expired. A message that is late for its deadline gets its last-chance edits here.
    public func begin(_ delivery: Delivery, taken: Instant, now: Instant, wallClock: Int64) -> OldStep {
        if let verdict = read(delivery, taken: taken, wallClock: wallClock, count: nil) { return .ended(verdict) }
        if asksForCount(delivery), let host = delivery.host, Chain.account(of: delivery.record) != nil {
            delivery.count = host.count(delivery)
            guard delivery.count != nil else { return .notYet }
        }
        if let verdict = gate(delivery, now: now) { return .ended(verdict) }
        return .run
    }

    private func asksForCount(_ delivery: Delivery) -> Bool {
        let content = delivery.content
        guard counts, settings.publishesExpired || !delivery.record.hasExpired(at: delivery.wallClock) else {
            return false
        }
        return content.hasAlertText ? content.isMutable : content.badge == 0
    }

    /// Called in the task, and on the executor, in which the stages are to run. nil: the delivery was taken from a stage
    /// that was late; the task has been cancelled and is good for nothing else.
    public func run(_ delivery: Delivery) async -> Verdict? {
        var content = delivery.takeContent()
        var context = context(delivery)
        var before = settings.measuresStages ? time.now : Instant.never
        while delivery.position < links.count {
            let index = delivery.position
            let link = links[index]
            context.stage = index
            let result: StageResult
            if !link.applies(to: content, delivery.record) {
                result = .skipped
            } else if link.isImmediate {
                result = await runInPlace(link, &content, context)
            } else {
                let now = time.now
                guard now < delivery.deadline else {
                    delivery.content = content
                    return lastChance(delivery)
                }
                guard let ended = await runAside(link, &content, context, delivery, now: now) else {
                    observer?.abandonedStageEnded(index)
                    return nil
                }
                result = ended
            }
            var took: UInt64 = 0
            if settings.measuresStages {
                let now = time.now
                took = now.nanoseconds(since: before)
                before = now
            }
            note(result, of: index, delivery, content, took: took)
            delivery.position = index + 1
        }
        delivery.content = content
        return finish(delivery, &delivery.content, .modified)
    }

    /// A stage that does not suspend: nobody else can want the content meanwhile.
    @inline(__always)
    private func runInPlace(
        _ link: ChainLink, _ content: inout NotificationContent, _ context: StageContext
    ) async -> StageResult {
        let mark = content.mark()
        do {
            return try await link.stage.didReceive(&content, context: context)
        } catch {
            content.rollback(to: mark)
            return failure(error, context)
        }
    }

    /// A stage that may suspend gets a copy; the delivery keeps the best attempt. nil if it was late.
    private func runAside(
        _ link: ChainLink, _ content: inout NotificationContent, _ context: StageContext, _ delivery: Delivery,
        now: Instant
    ) async -> StageResult? {
        delivery.record.own()
        delivery.nextWakeUp = min(delivery.deadline, link.budget.map(now.advanced) ?? .never)
        var context = context
        context.limit = delivery.nextWakeUp
        delivery.content = content
        let lane = delivery.lane
        let attempt = lane.claim.open(until: delivery.deadline)
        lane.host?.willWait(delivery)
        let result: StageResult
        var failed: (any Error)?
        do {
            result = try await link.stage.didReceive(&content, context: context)
        } catch {
            failed = error
            result = .skipped
        }
        guard lane.claim.close(attempt) else { return nil }
        if let failed {
            content = delivery.takeContent()
            return failure(failed, context)
        }
        delivery.content = NotificationContent()
        return result
    }

    /// The `nextWakeUp` of a waiting delivery has come. Called on its lane.
    public func timer(_ delivery: Delivery, now: Instant) -> TimerStep {
        guard now >= delivery.nextWakeUp else { return .early }
        guard delivery.lane.claim.seize() else { return .nothing }
        observer?.stageAbandoned(delivery.position, isLate: true)
        guard now < delivery.deadline else { return .ended(lastChance(delivery)) }
        expireStage(delivery, context(delivery))
        return .run
    }

    /// The deadline of a waiting delivery has come and its lane's thread is stuck. Called on any other thread. With a
    /// verdict the delivery is the caller's for good: it is not to be used again.
    public func expireFromOutside(_ delivery: Delivery, now: Instant) -> Verdict? {
        guard delivery.lane.claim.seizeForGood(now: now) else { return nil }
        observer?.stageAbandoned(delivery.position, isLate: true)
        return lastChance(delivery)
    }

    /// Nothing is to come of a waiting delivery, which is not to be used again. False when it has left its stage already.
    public func giveUp(_ delivery: Delivery) -> Bool {
        guard delivery.lane.claim.seizeForGood(now: .never) else { return false }
        observer?.stageAbandoned(delivery.position, isLate: false)
        return true
    }
}
