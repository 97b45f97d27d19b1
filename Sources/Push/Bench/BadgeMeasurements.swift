extension Measurement {
    /// What the stage costs: the increment read, the sum written, and the edit undone.
    package static func badge(messages: Int = 20_000) throws -> Measurement {
        let stage = BadgeStage(mode: .increment)
        let delivery = Delivery()
        delivery.count = 41
        let context = Chain([ChainLink(stage)]).context(delivery)
        var content = try NotificationContent(#"{"aps":{"alert":"Lunch?","badge":1,"mutable-content":1}}"#)
        let untouched = content.mark()
        return try Measurement("badge, the sum written", messages: messages) { () throws(UnexpectedResult) in
            let found = stage.didReceive(&content, context: context)
            guard found == .ok else { throw UnexpectedResult(result: found) }
            content.rollback(to: untouched)
        }
    }
}
