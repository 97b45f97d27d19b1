import Kafka

/// One output record as the terminal shows it.
struct DemoLine {
    let key: String
    let outcome: String
    private let payload: String
    private let reason: String?

    init(_ record: Record) {
        func text(_ bytes: UnsafeRawBufferPointer?) -> String {
            bytes.map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
        key = text(record.key)
        payload = text(record.value)
        outcome = text(record.headers?.last("pushmill-outcome"))
        reason = record.headers?.last("pushmill.error.reason").map { text($0) }
    }

    func text(before: String) -> String {
        let ending = reason.map { "\(outcome) (\($0))" } ?? outcome
        let head = "\(key)  \(ending)"
        return before == payload ? "\(head)\n    = \(payload)" : "\(head)\n    - \(before)\n    + \(payload)"
    }
}
