extension JSONDocument {
    /// Appends the document as it stands now.
    public func render(into output: inout [UInt8]) {
        bytes.withUnsafeBufferPointer { bytes in
            forEachRun { run in output.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[run])) }
        }
    }

    public var renderedByteCount: Int {
        var count = 0
        forEachRun { run in count += run.count }
        return count
    }

    /// Appends one value as it stands now.
    public func render(_ node: JSONNode, into output: inout [UInt8]) {
        bytes.withUnsafeBufferPointer { bytes in
            forEachRun(of: node) { run in output.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[run])) }
        }
    }

    public func renderedByteCount(of node: JSONNode) -> Int {
        var count = 0
        forEachRun(of: node) { run in count += run.count }
        return count
    }

    /// Ranges of `bytes` that follow one another; neighbours are joined to one run.
    private struct Runs {
        var last = 0..<0

        mutating func append(_ range: Range<Int>, _ finished: (Range<Int>) -> Void) {
            if range.lowerBound == last.upperBound {
                last = last.lowerBound..<range.upperBound
            } else {
                finished(last)
                last = range
            }
        }
    }

    private func forEachRun(_ body: (Range<Int>) -> Void) {
        guard isEdited else { return body(0..<sourceCount) }
        var runs = Runs()
        runs.append(0..<Int(records[0].start), body)
        renderValue(of: 0, &runs, body)
        runs.append(Int(records[0].end)..<sourceCount, body)
        body(runs.last)
    }

    private func forEachRun(of node: JSONNode, _ body: (Range<Int>) -> Void) {
        var runs = Runs()
        renderValue(of: node.index, &runs, body)
        body(runs.last)
    }

    private func renderValue(of place: UInt32, _ runs: inout Runs, _ body: (Range<Int>) -> Void) {
        let index = value(of: place)
        let record = records[index]
        if record.flags.contains(.changed) {
            renderContainer(record, &runs, body)
        } else {
            runs.append(Int(record.start)..<Int(record.end), body)
        }
    }

    /// As deep as the document, and so bounded. Between two children that stay, the separator before the second stays;
    /// the first that stays takes what stood before the first of all.
    private func renderContainer(_ container: JSONRecord, _ runs: inout Runs, _ body: (Range<Int>) -> Void) {
        let start = Int(container.start)
        let end = Int(container.end)
        var opening = start..<start + 1
        // Where the text's own children end, as far as we have come.
        var reached = start
        var isEmpty = true
        var child = container.firstChild
        while child != 0 {
            let record = records[Int(child)]
            let isInserted = record.flags.contains(.inserted)
            if child == container.firstChild, !isInserted { opening = start..<Int(record.placeStart) }
            if !record.flags.contains(.removed) {
                if isInserted {
                    runs.append(isEmpty ? opening : comma, body)
                    if record.nameStart != 0 { runs.append(Int(record.placeStart)..<Int(record.nameEnd) + 2, body) }
                } else if isEmpty {
                    runs.append(opening, body)
                    runs.append(Int(record.placeStart)..<Int(record.start), body)
                } else {
                    runs.append(reached..<Int(record.start), body)
                }
                renderValue(of: child, &runs, body)
                isEmpty = false
            }
            if !isInserted { reached = Int(record.end) }
            child = record.next
        }
        if isEmpty {
            runs.append(start..<start + 1, body)
            runs.append(end - 1..<end, body)
        } else {
            runs.append((reached == start ? end - 1 : reached)..<end, body)
        }
    }
}
