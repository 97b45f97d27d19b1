/// The stages, one after another.
extension Chain {
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
                    defer { delivery.content = content }
                    return lastChance(delivery, &content)
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
        defer { delivery.content = content }
        return finish(delivery, &content, .modified)
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
        let attempt = delivery.claim.open(until: delivery.deadline)
        delivery.host?.willWait(delivery)
        let result: StageResult
        var failed: (any Error)?
        do {
            result = try await link.stage.didReceive(&content, context: context)
        } catch {
            failed = error
            result = .skipped
        }
        guard delivery.claim.close(attempt) else { return nil }
        if let failed {
            content = delivery.takeContent()
            return failure(failed, context)
        }
        delivery.content = nil
        return result
    }

    private func failure(_ error: any Error, _ context: StageContext) -> StageResult {
        if let failure = error as? StageFailure { return .failed(failure.reason) }
        // The error itself may quote the payload.
        context.log(.warning, "threw \(type(of: error))")
        return .failed("error")
    }
}
