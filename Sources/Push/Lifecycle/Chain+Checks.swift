/// Whether what the chain has made can be shown, and what is published instead.
extension Chain {
    func finish(_ delivery: Delivery, _ content: inout NotificationContent, _ outcome: Outcome) -> Verdict {
        guard content.hasAlertText else { return original(delivery, &content) }
        if delivery.write(content) > delivery.sizeLimit {
            guard content.shorten(toFit: delivery.sizeLimit) else { return original(delivery, &content) }
            _ = delivery.write(content)
        }
        return publish(delivery, content, outcome)
    }

    /// The input's value, with the badge that the chain has counted.
    private func original(_ delivery: Delivery, _ content: inout NotificationContent) -> Verdict {
        let hasCounted = hasCounted(delivery)
        let badge = content.badge
        if let untouched = delivery.untouched { content.rollback(to: untouched) }
        // What says so already keeps its bytes.
        if hasCounted, content.badge != badge { content.badge = badge }
        return publishAsItCame(delivery, &content, .original)
    }

    /// The input's value; at most the badge has been set in it.
    func publishAsItCame(_ delivery: Delivery, _ content: inout NotificationContent, _ outcome: Outcome) -> Verdict {
        if delivery.write(content) > delivery.sizeLimit {
            // Without its badge it is not longer than it came: an increment must not be shown as a count.
            if content.isEdited { content.badge = nil }
            let count = delivery.write(content)
            guard count <= delivery.sizeLimit else {
                return deadLetter(
                    delivery, .tooLarge, message: "\(count) bytes, over \(delivery.sizeLimit), and no text to shorten")
            }
        }
        return publish(delivery, content, outcome)
    }

    private func hasCounted(_ delivery: Delivery) -> Bool {
        guard counts else { return false }
        return links.indices.contains { index in
            guard links[index].counting != nil, case .ok = delivery.results[index] else { return false }
            return true
        }
    }

    private func publish(_ delivery: Delivery, _ content: NotificationContent, _ outcome: Outcome) -> Verdict {
        delivery.badgeOperation = content.badgeOperation
        delivery.output.addHeaders(outcome, delivery, self)
        return Verdict(outcome)
    }
}
