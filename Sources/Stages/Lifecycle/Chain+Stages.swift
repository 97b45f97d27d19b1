import PushmillPayload

/// The stages, one after another, and what happens to a message whose time is up. All of it on the thread that has the
/// delivery.
extension Chain {
    /// The stage of a waiting delivery may have ended: takes its result and goes on. Nil where it has not: what ended was
    /// a stage of an earlier use of the delivery.
    public func resume(_ delivery: Delivery, now: Instant) -> Step? {
        guard case .waiting(let work) = delivery.phase, let ended = work.takeEnd() else { return nil }
        delivery.phase = .ended
        let result: StageResult
        switch ended.result {
        case .success(let value):
            result = value
            let (mark, operation) = (delivery.content.mark(), delivery.content.badgeOperation)
            delivery.content = ended.content
            keep(operation, in: &delivery.content, since: mark)
        case .failure(let error):
            // The delivery has kept what there was before the stage.
            var context = context(delivery)
            context.stage = delivery.stageIndex
            result = failure(error, context)
        }
        end(delivery, delivery.content, result, took: ended.nanoseconds)
        return runStages(delivery, &delivery.content, now: now)
    }

    /// The time of a waiting delivery has come, `nextWakeUp`. A stage that has ended by now has its say; one that runs is
    /// abandoned: its task is cancelled, and what it does later is dropped.
    public func expire(_ delivery: Delivery, now: Instant) -> Step {
        guard case .waiting(let work) = delivery.phase else { preconditionFailure("no stage of this delivery runs") }
        if let step = resume(delivery, now: now) { return step }
        guard now >= delivery.nextWakeUp else { return .waiting(until: delivery.nextWakeUp) }
        guard work.abandon() else {
            // It has ended between the two questions.
            return expire(delivery, now: now)
        }
        delivery.phase = .ended
        observer?.stageAbandoned(delivery.stageIndex, isLate: true)
        let took = settings.measuresStages ? now.nanoseconds(since: work.begin) : 0
        expireStage(delivery, &delivery.content, context(delivery), took: took)
        guard now < delivery.deadline else { return .ended(lastChance(delivery, &delivery.content)) }
        return runStages(delivery, &delivery.content, now: now)
    }

    /// Nothing is to come of the delivery any more. Its stage, if one runs, is cancelled and left to itself.
    public func abandon(_ delivery: Delivery) {
        guard case .waiting(let work) = delivery.phase else { return }
        delivery.phase = .ended
        if work.abandon() { observer?.stageAbandoned(delivery.stageIndex, isLate: false) }
    }

    /// What is known of the time while stages run: it may be a little old, and is read anew where stages have taken time since.
    private struct StageClock {
        var now: Instant
        var isOld = false
        let isMeasured: Bool
    }

    /// Runs the stages from `stageIndex` on. No link is retained for a call: the chain owns them.
    func runStages(_ delivery: Delivery, _ content: inout NotificationContent, now: Instant) -> Step {
        var context = context(delivery)
        let isMeasured = settings.measuresStages && delivery.isMeasured
        var clock = StageClock(now: isMeasured ? time.now : now, isMeasured: isMeasured)
        while delivery.stageIndex < unownedLinks.count {
            let step = unownedLinks[delivery.stageIndex]._withUnsafeGuaranteedRef { link in
                runStage(link, delivery, &content, &context, &clock)
            }
            if let step { return step }
        }
        return .ended(finish(delivery, &content, .modified))
    }

    /// Nil where the next stage's turn has come.
    @inline(__always)
    private func runStage(
        _ link: ChainLink, _ delivery: Delivery, _ content: inout NotificationContent, _ context: inout StageContext,
        _ clock: inout StageClock
    ) -> Step? {
        guard link.applies(to: content, delivery) else {
            end(delivery, content, .skipped, took: 0)
            return nil
        }
        context.stage = delivery.stageIndex
        if !link.isImmediate {
            if clock.isOld { clock.now = time.now }
            clock.isOld = false
            guard clock.now < delivery.deadline else { return .ended(lastChance(delivery, &content)) }
        }
        guard let result = runAtOnce(link, delivery, &content, context) else {
            if clock.isOld { clock.now = time.now }
            guard clock.now < delivery.deadline else { return .ended(lastChance(delivery, &content)) }
            return suspend(link, delivery, content, context, now: clock.now)
        }
        var took: UInt64 = 0
        if clock.isMeasured {
            let before = clock.now
            clock.now = time.now
            took = clock.now.nanoseconds(since: before)
        } else {
            clock.isOld = true
        }
        end(delivery, content, result, took: took)
        return nil
    }

    /// Nil where the stage may have to wait.
    @inline(__always)
    private func runAtOnce(
        _ link: ChainLink, _ delivery: Delivery, _ content: inout NotificationContent, _ context: StageContext
    ) -> StageResult? {
        let mark = content.mark()
        let operation = content.badgeOperation
        let failed: StageResult?
        do {
            if let result = try link.stage.didReceiveAtOnce(&content, context: context) {
                keep(operation, in: &content, since: mark)
                return result
            }
            failed = nil
        } catch {
            failed = failure(error, context)
        }
        undo(delivery, &content, to: mark)
        // No edit of the payload.
        content.badgeOperation = operation
        return failed
    }

    /// A payload that a stage has put in the place of the one before says nothing of the count, which goes on.
    @inline(__always)
    private func keep(
        _ operation: BadgeOperation?, in content: inout NotificationContent, since mark: JSONDocument.Mark
    ) {
        guard let operation, content.badgeOperation == nil, !content.isOf(mark) else { return }
        content.badgeOperation = operation
    }

    /// The stage gets a copy of the content; the delivery keeps the best attempt, and has its bytes for itself.
    private func suspend(
        _ link: ChainLink, _ delivery: Delivery, _ content: NotificationContent, _ context: StageContext, now: Instant
    ) -> Step {
        delivery.record.own()
        delivery.nextWakeUp = min(delivery.deadline, link.budget.map(now.advanced) ?? .never)
        var context = context
        context.limit = delivery.nextWakeUp
        let work = StageWork(delivery.tag, content, context, begin: now)
        delivery.phase = .waiting(work)
        return .suspended(until: delivery.nextWakeUp, work)
    }

    private func end(_ delivery: Delivery, _ content: NotificationContent, _ result: StageResult, took: UInt64) {
        note(result, of: delivery.stageIndex, delivery, content, took: took)
        delivery.stageIndex += 1
    }

    func failure(_ error: any Error, _ context: StageContext) -> StageResult {
        if let failure = error as? StageFailure { return .failed(failure.reason) }
        // The error itself may quote the payload.
        context.log(.warning, "threw \(type(of: error))")
        return .failed("error")
    }

    // MARK: - The last chance

    /// The edits of the stages that have not ended, and the best attempt that comes of them.
    func lastChance(_ delivery: Delivery, _ content: inout NotificationContent) -> Verdict {
        let context = context(delivery)
        while delivery.stageIndex < links.count { expireStage(delivery, &content, context) }
        return finish(delivery, &content, .bestAttempt)
    }

    /// The last-chance edit of the stage whose turn it is. `took` is how long it has run in vain.
    private func expireStage(
        _ delivery: Delivery, _ content: inout NotificationContent, _ context: StageContext, took: UInt64 = 0
    ) {
        let link = links[delivery.stageIndex]
        var context = context
        context.stage = delivery.stageIndex
        let applies = link.applies(to: content, delivery)
        let (mark, operation) = (content.mark(), content.badgeOperation)
        let result = applies ? link.stage.timeWillExpire(&content, context: context) : .skipped
        keep(operation, in: &content, since: mark)
        end(delivery, content, result, took: took)
    }
}
