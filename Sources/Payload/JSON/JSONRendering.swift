extension JSONDocument {
    /// Appends the document with its edits.
    public func render(into output: inout [UInt8]) {
        let capacity = renderedCapacity
        output.append(upTo: capacity) { render(to: UnsafeMutableBufferPointer(start: $0, count: capacity)) }
    }

    func render(into output: inout Region<UInt8>) {
        let capacity = renderedCapacity
        output.reserve(capacity)
        output.take(render(to: UnsafeMutableBufferPointer(start: output.end, count: capacity)))
    }

    /// No text is rendered twice, and each inserted record takes at most one comma.
    private var renderedCapacity: Int { storage.bytes.count + storage.records.count }

    public var renderedByteCount: Int { render(to: nil) }

    /// Appends one value with its edits.
    public func render(_ node: JSONNode, into output: inout [UInt8]) {
        let count = renderedByteCount(of: node)
        output.append(upTo: count) { render(node, to: UnsafeMutableBufferPointer(start: $0, count: count)) }
    }

    public func renderedByteCount(of node: JSONNode) -> Int { render(node, to: nil) }

    /// Writes one value to memory that has room for it, or only counts if that is nil; returns the number of bytes.
    func render(_ node: JSONNode, to output: UnsafeMutableBufferPointer<UInt8>?) -> Int {
        var runs = Runs(bytes: bytes, output: output)
        renderValue(of: node, &runs)
        runs.flush()
        return runs.count
    }

    /// Consecutive ranges of `bytes`, copied if there is an output; adjacent ones are joined into one run.
    private struct Runs {
        let bytes: UnsafePointer<UInt8>
        let output: UnsafeMutableBufferPointer<UInt8>?
        var count = 0
        /// The run that is not copied yet.
        var start = 0
        var end = 0

        @inline(__always)
        mutating func append(_ start: Int, _ end: Int) {
            if start != self.end {
                flush()
                self.start = start
            }
            self.end = end
        }

        mutating func flush() {
            let more = end &- start
            if let output {
                precondition(count &+ more <= output.count, "a document renders to more than its bytes")
                if let base = output.baseAddress { (base + count).update(from: bytes + start, count: more) }
            }
            count &+= more
            start = end
        }
    }

    private func render(to output: UnsafeMutableBufferPointer<UInt8>?) -> Int {
        var runs = Runs(bytes: bytes, output: output)
        if isEdited {
            runs.append(0, Int(records[0].start))
            renderValue(of: root, &runs)
            runs.append(Int(records[0].end), storage.sourceCount)
        } else {
            runs.append(0, storage.sourceCount)
        }
        runs.flush()
        return runs.count
    }

    private func renderValue(of node: JSONNode, _ runs: inout Runs) {
        let record = records + value(of: node)
        if record.pointee.flags.contains(.changed) {
            renderContainer(record, &runs)
        } else {
            runs.append(Int(record.pointee.start), Int(record.pointee.end))
        }
    }

    /// Recursion is bounded by the depth of the document. Between two kept children, the separator before the second is
    /// kept; the first kept child takes what precedes the original first child.
    private func renderContainer(_ container: UnsafePointer<JSONRecord>, _ runs: inout Runs) {
        let records = records
        let start = Int(container.pointee.start)
        let end = Int(container.pointee.end)
        // After the opening bracket and what precedes the first child.
        var opened = start &+ 1
        // Where the text's own children end, as far as they have been handled.
        var reached = start
        var isEmpty = true
        var child = container.pointee.firstChild
        if child != 0, !records[Int(child)].flags.contains(.inserted) { opened = Int(records[Int(child)].memberStart) }
        while child != 0 {
            let record = records + Int(child)
            let flags = record.pointee.flags
            let childEnd = Int(record.pointee.end)
            if flags.isDisjoint(with: [.inserted, .removed]) {
                if isEmpty {
                    runs.append(start, opened)
                    reached = Int(record.pointee.memberStart)
                }
                if flags.contains(.changed) || record.pointee.replacement != 0 {
                    runs.append(reached, Int(record.pointee.start))
                    renderValue(of: JSONNode(index: child), &runs)
                } else {
                    runs.append(reached, childEnd)
                }
                reached = childEnd
                isEmpty = false
            } else if flags.contains(.removed) {
                if !flags.contains(.inserted) { reached = childEnd }
            } else {
                let comma = storage.sourceCount &+ Self.padding
                if isEmpty { runs.append(start, opened) } else { runs.append(comma, comma &+ 1) }
                if record.pointee.nameStart != 0 {
                    runs.append(Int(record.pointee.memberStart), Int(record.pointee.nameEnd) &+ 2)
                }
                renderValue(of: JSONNode(index: child), &runs)
                isEmpty = false
            }
            child = record.pointee.next
        }
        if isEmpty {
            runs.append(start, start &+ 1)
            runs.append(end &- 1, end)
        } else {
            runs.append(reached == start ? end &- 1 : reached, end)
        }
    }
}
