/// The headers of what is published.
extension OutputRecord {
    mutating func addHeaders(_ outcome: Outcome, _ delivery: Delivery, _ chain: Chain) {
        let record = delivery.record
        replace(.outcome, of: record) { $0.append(outcome.name) }
        replace(.source, of: record) { $0.append(record.source) }
        replace(.stages, of: record) { text in
            if delivery.isAllOkay { return text.append(contentsOf: chain.allOkay) }
            for index in chain.links.indices {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                chain.links[index].append(delivery.results[index], to: &text)
            }
        }
        if record.value(of: .apnsID)?.isEmpty ?? true {
            replace(.apnsID, of: record) { DerivedIdentifier(record.source).append(to: &$0) }
        }
        if let identifier = record.value(of: .apnsCollapseID), identifier.count > CollapseIdentifier.limit {
            replace(.apnsCollapseID, of: record) { CollapseIdentifier.append(hashOf: identifier, to: &$0) }
        }
        if delivery.isStructured, let event = delivery.event { addAttributes(of: event, record) }
    }

    private mutating func replace(_ header: KnownHeader, of record: InputRecord, _ write: (inout [UInt8]) -> Void) {
        if record.has(header) { remove(header.name) }
        add(header.name, write)
    }

    private mutating func addAttributes(of event: CloudEvent, _ record: InputRecord) {
        replace(.contentType, of: record) { event.appendContentType(to: &$0) }
        event.forEachAttribute { attribute, write in
            var name = [UInt8]("ce_".utf8)
            name.append(contentsOf: attribute)
            name.withUnsafeBytes { replace($0, write) }
        }
    }
}
