internal import CPushmillRdKafka

/// Small numbers for the topics that records come from, so that a record carries no name.
final class TopicNumbers {
    // One thread has it, for every record.
    @exclusivity(unchecked) private var names: [String] = []
    @exclusivity(unchecked) private var lastHandle: OpaquePointer?
    @exclusivity(unchecked) private var lastNumber: UInt32 = 0

    /// Records come in runs of one topic: its handle is looked up once a run.
    func number(of handle: OpaquePointer?) -> UInt32 {
        if handle == lastHandle, handle != nil { return lastNumber }
        let name = handle.map { String(cString: rd_kafka_topic_name($0)) } ?? ""
        lastHandle = handle
        lastNumber = number(ofName: name)
        return lastNumber
    }

    func number(ofName name: String) -> UInt32 {
        let index = names.firstIndex(of: name) ?? names.count
        if index == names.count { names.append(name) }
        return UInt32(truncatingIfNeeded: index)
    }

    func name(_ number: UInt32) -> String { names.indices.contains(Int(number)) ? names[Int(number)] : "" }
}
