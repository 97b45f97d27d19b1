extension Measurement {
    /// What one name in a text costs: its placeholder found, the book asked, the payload edited, and the edit undone.
    package static func contact(
        _ name: String, _ id: String, of owner: String, in book: any ContactBook, messages: Int = 20_000
    ) throws -> Measurement {
        try contact(name, text: "{contact:\(id)} in Sailing club", result: .ok, owner, book, messages)
    }

    /// What the stage costs a message that names nobody.
    package static func noContact(in book: any ContactBook, messages: Int = 20_000) throws -> Measurement {
        try contact("contact, none", text: "Zoë in Sailing club", result: .skipped, "", book, messages)
    }

    private static func contact(
        _ name: String, text: String, result: StageResult, _ owner: String, _ book: any ContactBook, _ messages: Int
    ) throws -> Measurement {
        var options = ContactStage.Options()
        options.owner = [.key]
        let stage = ContactStage(options, book: book, texts: SharedTexts())
        let delivery = Delivery()
        let context = Chain([ChainLink(stage)]).context(delivery)
        let payload = #"{"aps":{"alert":{"title":"\#(text)","subtitle":"s","body":"Lunch?"},"mutable-content":1}}"#
        var content = try NotificationContent(payload)
        let untouched = content.mark()
        return try Array(owner.utf8).withUnsafeBytes { owner in
            delivery.record.key = owner
            return try Measurement(name, messages: messages) { () throws(UnexpectedResult) in
                let found = stage.didReceive(&content, context: context)
                guard found == result else { throw UnexpectedResult(result: found) }
                content.rollback(to: untouched)
            }
        }
    }
}

/// The sample was not treated as it should be: nothing was measured.
struct UnexpectedResult: Error { let result: StageResult }
