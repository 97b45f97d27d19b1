import PushmillPayload

/// Runs the stages one after another, and ends messages whose time is up. All of it runs on the thread that has the
/// delivery.
extension Chain {
    /// Takes the result of a suspended delivery's stage, if it has ended, and goes on. Nil if it has not: the stage
    /// that ended belonged to an earlier use of the delivery.
    public func resume(_ delivery: Delivery, now: Instant) -> Step? {
        guard case .suspended(let work) = delivery.phase, let ended = work.takeEnd() else { return nil }
        delivery.phase = .ended
        let result: StageResult
        switch ended.result {
        case .success(let value):
            result = value
            let (savepoint, operation) = (delivery.content.savepoint(), delivery.content.badgeOperation)
            delivery.content = ended.content
            keep(operation, in: &delivery.content, since: savepoint)
        case .failure(let error):
            // The delivery still has the content from before the stage.
            var context = context(delivery)
            context.stage = delivery.stageIndex
            result = failure(error, context)
        }
        end(delivery, delivery.content, result, took: ended.nanoseconds)
        return runStages(delivery, &delivery.content, now: now)
    }

    /// To be called at a suspended delivery's `nextWakeUp`. If its stage has ended by now, the result counts. A stage
    /// that still runs is abandoned: its task is canceled, and its result is dropped. If `isLate`, the message's time is
    /// up now.
    public func wakeUp(_ delivery: Delivery, now: Instant, isLate: Bool = false) -> Step {
        guard case .suspended(let work) = delivery.phase else { preconditionFailure("no stage of this delivery runs") }
        if isLate {
            delivery.deadline = min(delivery.deadline, now)
            delivery.nextWakeUp = min(delivery.nextWakeUp, now)
        }
        if let step = resume(delivery, now: now) { return step }
        guard now >= delivery.nextWakeUp else { return .notDue(until: delivery.nextWakeUp) }
        guard work.abandon() else {
            // The stage ended between the two checks.
            return wakeUp(delivery, now: now)
        }
        delivery.phase = .ended
        observer?.stageAbandoned(delivery.stageIndex, isLate: true)
        expireStage(delivery, &delivery.content, context(delivery), took: now.nanoseconds(since: work.begin))
        guard now < delivery.deadline else { return .ended(lastChance(delivery, &delivery.content)) }
        return runStages(delivery, &delivery.content, now: now)
    }

    /// Gives up the delivery. Its stage, if one runs, is canceled and its result dropped.
    public func abandon(_ delivery: Delivery) {
        guard case .suspended(let work) = delivery.phase else { return }
        delivery.phase = .ended
        if work.abandon() { observer?.stageAbandoned(delivery.stageIndex, isLate: false) }
    }

    /// Runs the deliveries' stages, each stage for all of them. Then each has its step: it has ended, or its stage may
    /// wait.
    public func run(_ group: inout DeliveryGroup, now: Instant) {
        // A context that outlived its turn would keep the delivery from reusing its record.
        withUnsafeTemporaryAllocation(of: StageContext.self, capacity: group.count) { contexts in
            for index in contexts.indices {
                contexts.initializeElement(at: index, to: group.unowned[index]._withUnsafeGuaranteedRef(context))
            }
            for stage in unownedLinks.indices {
                unownedLinks[stage]._withUnsafeGuaranteedRef { link in
                    run(link, isFirst: stage == 0, &group, contexts, now: now)
                }
            }
            contexts.deinitialize()
        }
        for index in 0..<group.count where group.steps[index] == nil {
            group.steps[index] = group.unowned[index]._withUnsafeGuaranteedRef {
                .ended(finish($0, &$0.content, .modified))
            }
        }
    }

    private func run(
        _ link: ChainLink, isFirst: Bool, _ group: inout DeliveryGroup,
        _ contexts: UnsafeMutableBufferPointer<StageContext>, now: Instant
    ) {
        for index in contexts.indices where group.steps[index] == nil {
            group.steps[index] = group.unowned[index]._withUnsafeGuaranteedRef { delivery in
                let isMeasured = delivery.isMeasured
                var clock = StageClock(
                    now: isMeasured ? time.now : now, isOld: !isFirst && !isMeasured, isMeasured: isMeasured)
                return runStage(link, delivery, &delivery.content, &contexts[index], &clock)
            }
        }
    }

    /// The time last read while stages run. It may be a little old; it is read again if stages have taken time since.
    private struct StageClock {
        var now: Instant
        var isOld = false
        let isMeasured: Bool
    }

    /// Runs the stages from `stageIndex` on. Links are not retained for a call: the chain owns them.
    func runStages(_ delivery: Delivery, _ content: inout NotificationContent, now: Instant) -> Step {
        var context = context(delivery)
        var clock = StageClock(now: delivery.isMeasured ? time.now : now, isMeasured: delivery.isMeasured)
        while delivery.stageIndex < unownedLinks.count {
            let step = unownedLinks[delivery.stageIndex]._withUnsafeGuaranteedRef { link in
                runStage(link, delivery, &content, &context, &clock)
            }
            if let step { return step }
        }
        return .ended(finish(delivery, &content, .modified))
    }

    /// Nil if the next stage's turn has come.
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

    /// Nil if the stage may have to wait.
    @inline(__always)
    private func runAtOnce(
        _ link: ChainLink, _ delivery: Delivery, _ content: inout NotificationContent, _ context: StageContext
    ) -> StageResult? {
        let savepoint = content.savepoint()
        let operation = content.badgeOperation
        let failed: StageResult?
        do {
            if let result = try link.stage.didReceiveAtOnce(&content, context: context) {
                keep(operation, in: &content, since: savepoint)
                return result
            }
            failed = nil
        } catch {
            failed = failure(error, context)
        }
        undo(delivery, &content, to: savepoint)
        // `undo` does not restore the operation, which is not part of the payload.
        content.badgeOperation = operation
        return failed
    }

    /// If a stage replaced the payload, the new one has no badge operation: the one from before is kept.
    @inline(__always)
    private func keep(
        _ operation: BadgeOperation?, in content: inout NotificationContent, since savepoint: JSONDocument.Savepoint
    ) {
        guard let operation, content.badgeOperation == nil, !content.isOf(savepoint) else { return }
        content.badgeOperation = operation
    }

    /// Gives the stage a copy of the content. The delivery keeps the best attempt and copies the record's bytes.
    private func suspend(
        _ link: ChainLink, _ delivery: Delivery, _ content: NotificationContent, _ context: StageContext, now: Instant
    ) -> Step {
        delivery.record.own()
        delivery.nextWakeUp = min(delivery.deadline, link.budget.map(now.advanced) ?? .never)
        var context = context
        context.limit = delivery.nextWakeUp
        let work = StageWork(delivery.tag, content, context, begin: now)
        delivery.phase = .suspended(work)
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

    /// Applies the last-chance edits of the stages that have not ended, and finishes the best attempt that results.
    func lastChance(_ delivery: Delivery, _ content: inout NotificationContent) -> Verdict {
        let context = context(delivery)
        while delivery.stageIndex < links.count { expireStage(delivery, &content, context) }
        return finish(delivery, &content, .bestAttempt)
    }

    /// Applies the last-chance edit of the stage whose turn it is. `took` is how long the stage has run in vain.
    private func expireStage(
        _ delivery: Delivery, _ content: inout NotificationContent, _ context: StageContext, took: UInt64 = 0
    ) {
        let link = links[delivery.stageIndex]
        var context = context
        context.stage = delivery.stageIndex
        let applies = link.applies(to: content, delivery)
        let (savepoint, operation) = (content.savepoint(), content.badgeOperation)
        let result = applies ? link.stage.timeWillExpire(&content, context: context) : .skipped
        keep(operation, in: &content, since: savepoint)
        end(delivery, content, result, took: took)
    }
}
