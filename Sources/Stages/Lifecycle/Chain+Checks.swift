import PushmillPayload

/// Checks whether the chain's result can be shown, and publishes something else if not.
extension Chain {
    func finish(_ delivery: Delivery, _ content: inout NotificationContent, _ outcome: Outcome) -> Verdict {
        guard content.hasAlertText else { return original(delivery, &content) }
        if delivery.write(content) > delivery.sizeLimit {
            guard content.shorten(toFit: delivery.sizeLimit) else { return original(delivery, &content) }
            _ = delivery.write(content)
        }
        return publish(delivery, content, outcome)
    }

    /// The input's value with the badge that the chain counted.
    private func original(_ delivery: Delivery, _ content: inout NotificationContent) -> Verdict {
        let badge = hasCounted(delivery) ? content.badge : nil
        if delivery.isReplaced(content) {
            readAgain(delivery, &content)
        } else if let untouched = delivery.untouched {
            content.rollback(to: untouched)
        }
        if let badge {
            // A badge that is already right keeps its bytes.
            if content.badge != badge { content.badge = badge }
        } else if content.badge != nil {
            // A stage removed the badge, perhaps with all of `aps`, before or after it was to be counted.
            content.badgeOperation = nil
            count(delivery, &content, isClearing: false)
        }
        return publishAsItCame(delivery, &content, .original)
    }

    /// Undoes a stage's edits. If the stage replaced the payload, nothing can be undone: the input is read again,
    /// without the edits of the stages before and, once counted, without its badge, since an increment is not a count.
    func undo(_ delivery: Delivery, _ content: inout NotificationContent, to savepoint: JSONDocument.Savepoint) {
        if content.isOf(savepoint) { return content.rollback(to: savepoint) }
        readAgain(delivery, &content)
        if hasCounted(delivery) { content.badge = nil }
    }

    /// Replaces the content with the input's payload.
    private func readAgain(_ delivery: Delivery, _ content: inout NotificationContent) {
        let operation = content.badgeOperation
        // This payload was read successfully before.
        if delivery.isStructured {
            _ = try? delivery.event?.readData(into: &content)
        } else if let value = delivery.record.value {
            _ = try? content.read(value)
        }
        content.badgeOperation = operation
    }

    /// The input's value, edited at most in its badge, which cannot make a payload fit that came too large.
    func publishAsItCame(_ delivery: Delivery, _ content: inout NotificationContent, _ outcome: Outcome) -> Verdict {
        var count = delivery.inputByteCount
        if count <= delivery.sizeLimit {
            count = delivery.write(content)
            if count > delivery.sizeLimit {
                // An increment must not be shown as a count.
                content.badge = nil
                count = delivery.write(content)
            }
        }
        guard count <= delivery.sizeLimit else {
            return deadLetter(
                delivery, .tooLarge,
                message: "\(count) bytes exceed \(delivery.sizeLimit), even as it came")
        }
        return publish(delivery, content, outcome)
    }

    private func hasCounted(_ delivery: Delivery) -> Bool {
        guard hasCountingStage else { return false }
        return links.indices.contains { index in
            guard links[index].counting != nil else { return false }
            switch delivery.results[index] {
            case .ok, .expired, .word: return true
            case .skipped, .failed: return false
            }
        }
    }

    private func publish(_ delivery: Delivery, _ content: NotificationContent, _ outcome: Outcome) -> Verdict {
        delivery.badgeOperation = content.badgeOperation
        delivery.unownedRecord._withUnsafeGuaranteedRef { record in
            delivery.output.addHeaders(outcome, record, delivery, self)
        }
        return Verdict(outcome)
    }
}

/// The headers of what is published.
extension OutputRecord {
    mutating func addHeaders(_ outcome: Outcome, _ record: InputRecord, _ delivery: Delivery, _ chain: Chain) {
        if record.has(.outcome) { remove(KnownHeader.outcome.name) }
        add(KnownHeader.outcome.name, value: outcome.name)
        replace(.source, of: record) { record.appendSource(to: &$0) }
        replace(.stages, of: record) { text in
            if delivery.isAllOkay { return text.append(bytesOf: chain.allOkay) }
            for index in chain.links.indices {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                chain.links[index].append(delivery.results[index], to: &text)
            }
        }
        if record.value(of: .apnsID)?.isEmpty ?? true {
            replace(.apnsID, of: record) { DerivedIdentifier(record).append(to: &$0) }
        }
        // Readers may take the first of several.
        if let identifier = record.value(of: .apnsCollapseID),
            record.headers.contains(where: { CollapseIdentifier.isTooLong($0) })
        {
            replace(.apnsCollapseID, of: record) { CollapseIdentifier.append(identifier, to: &$0) }
        }
        guard delivery.isStructured, let event = delivery.event else { return }
        replace(.contentType, of: record) { event.appendContentType(to: &$0) }
        event.forEachAttribute { attribute, write in
            var name = [UInt8]("ce_".utf8)
            name.append(contentsOf: attribute)
            name.withUnsafeBytes { replace($0, write) }
        }
    }

    private mutating func replace(_ header: KnownHeader, of record: InputRecord, _ write: (inout [UInt8]) -> Void) {
        if record.has(header) { remove(header.name) }
        add(header.name, write)
    }
}
