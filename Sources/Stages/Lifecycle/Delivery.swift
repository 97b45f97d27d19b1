public import PushmillPayload

/// One message on its way through the chain; reused for the next once its verdict has been carried out. It belongs to
/// one thread: a stage that may wait works on a copy.
public final class Delivery {
    enum Phase {
        case clear
        /// A stage runs on the pool.
        case suspended(StageWork)
        case ended
    }

    /// The caller fills it before `Chain.begin`.
    public var record: InputRecord { shown.record }
    /// Identifies the delivery to its owner when a stage has ended on the pool.
    public var tag: Int {
        get { shown.tag }
        set { shown.tag = newValue }
    }
    /// Whether stages that compute are timed for this message, which costs a clock reading for each.
    public var isMeasured: Bool {
        get { shown.isMeasured }
        set { shown.isMeasured = newValue }
    }
    /// What the last verdict publishes.
    public internal(set) var output: OutputRecord {
        // By its address: a coroutine would allocate memory for each access from another module.
        unsafeAddress { UnsafePointer(shownOutput) }
        unsafeMutableAddress { shownOutput }
    }
    /// What the output does to the recipient's count.
    public internal(set) var badgeOperation: BadgeOperation? {
        get { shown.badgeOperation }
        set { shown.badgeOperation = newValue }
    }

    // A delivery has one owner, so its members skip the run-time exclusivity checks, which every message would pay for.

    /// What the owner, in another module, reads and sets for each message. Accesses from there to a public stored
    /// member would be checked for exclusivity all the same.
    private struct Shown {
        var record = InputRecord()
        var tag = 0
        var isMeasured = false
        var badgeOperation: BadgeOperation?
    }

    @exclusivity(unchecked) private var shown = Shown()
    /// `record`, which the delivery keeps, without reference counting.
    @exclusivity(unchecked) private(set) var unownedRecord: Unmanaged<InputRecord>
    private let shownOutput = UnsafeMutablePointer<OutputRecord>.allocate(capacity: 1)
    /// How the stages ended, in the order of the chain.
    @exclusivity(unchecked) public internal(set) var results: [StageResult] = []
    /// How long the stages took, in nanoseconds; 0 for a stage that did not run or was not measured.
    @exclusivity(unchecked) public internal(set) var times: [UInt64] = []
    /// The latest time at which the message leaves the chain.
    @exclusivity(unchecked) public internal(set) var deadline = Instant.never
    /// The deadline, or the end of the running stage's budget if that is earlier.
    @exclusivity(unchecked) public internal(set) var nextWakeUp = Instant.never

    @exclusivity(unchecked) var phase = Phase.clear
    /// The best attempt; while a stage runs on the pool, the content before that stage.
    @exclusivity(unchecked) package internal(set) var content = NotificationContent()
    /// The content before any edit.
    @exclusivity(unchecked) var untouched: JSONDocument.Savepoint?
    /// Whether the record is a CloudEvent, `event`, and its data the payload.
    @exclusivity(unchecked) var isStructured = false
    @exclusivity(unchecked) var event: CloudEvent?
    @exclusivity(unchecked) var wallClock: Int64 = 0
    @exclusivity(unchecked) package var count: Int32?
    /// The count already includes this message.
    @exclusivity(unchecked) var isCounted = false
    /// The most bytes that APNs accepts for the payload.
    @exclusivity(unchecked) var sizeLimit = 0
    /// The stage that runs or is next.
    @exclusivity(unchecked) var stageIndex = 0

    public init() {
        unownedRecord = .passUnretained(shown.record)
        shownOutput.initialize(to: OutputRecord())
    }

    deinit {
        shownOutput.deinitialize(count: 1)
        shownOutput.deallocate()
    }

    /// Lends the record without retaining it, as each reading of `record` does.
    public func withRecord<R>(_ body: (InputRecord) -> R) -> R { unownedRecord._withUnsafeGuaranteedRef(body) }

    /// Makes the delivery ready for another message. Not inlined for the same reason as `InputRecord.fill`.
    @inline(never)
    public func clear() {
        if case .suspended = phase { preconditionFailure("a delivery is abandoned before it is cleared") }
        phase = .clear
        // A stage that is still running, or has kept its context, may still read the old record.
        if isKnownUniquelyReferenced(&shown.record) {
            unownedRecord._withUnsafeGuaranteedRef { $0.clear() }
        } else {
            shown.record = InputRecord()
            unownedRecord = .passUnretained(shown.record)
        }
        if output.isLarge { output.clear() }
        if let event, event.isLarge { self.event = nil }
    }

    /// True if the message took so much more memory than others that the delivery is not worth reusing.
    package var isLarge: Bool {
        output.isLarge || record.isLarge || content.document.isLarge || event?.isLarge ?? false
    }

    /// The bytes that the documents take besides the record's.
    package var documentByteCount: Int { content.document.indexByteCount + (event?.byteCount ?? 0) }

    func prepare(_ record: InputRecord, stages: Int, deadline: Instant, wallClock: Int64, count: Int32?) {
        sizeLimit = record.value(of: .apnsPushType)?.hasBytes("voip") == true ? 5120 : 4096
        self.deadline = deadline
        self.wallClock = wallClock
        self.count = count
        stageIndex = 0
        isStructured = false
        badgeOperation = nil
        output.clear()
        if results.count != stages {
            results = Array(repeating: .skipped, count: stages)
            times = Array(repeating: 0, count: stages)
        }
        results.withUnsafeMutableBufferPointer { $0.update(repeating: .skipped) }
        times.withUnsafeMutableBufferPointer { $0.update(repeating: 0) }
    }

    /// True if every stage ended `ok`.
    public var isAllOkay: Bool {
        results.allSatisfy { if case .ok = $0 { true } else { false } }
    }

    /// True if a stage replaced the payload with another one.
    func isReplaced(_ content: NotificationContent) -> Bool {
        guard let untouched else { return false }
        return !content.isOf(untouched)
    }

    /// The size of the input's payload in bytes.
    var inputByteCount: Int { isStructured ? event?.dataByteCount ?? 0 : record.value?.count ?? 0 }

    /// Makes the content the output's value; returns its size in bytes.
    func write(_ content: NotificationContent) -> Int {
        guard content.isEdited || isStructured || isReplaced(content) else {
            output.setValue(record.value)
            return record.value?.count ?? 0
        }
        return output.render(content)
    }
}

extension RecordEnvelope {
    /// What a delivery publishes, with the coordinates of its input.
    package init(output delivery: Delivery) {
        self.init(input: delivery.record)
        delivery.output.forEachRemovedHeader { name in headers.removeAll { $0.name.elementsEqual(name) } }
        delivery.output.forEachAddedHeader { name, value in
            headers.append(Header(name: Array(name), value: Array(value)))
        }
        payload = delivery.output.withValue { $0.map(Array.init) }
    }
}

/// How a message ends. The raw value is an index for metrics.
public enum Outcome: Int, CaseIterable, Sendable {
    case modified, passed, bestAttempt, original, expired, deadLetter

    public var name: StaticString {
        switch self {
        case .modified: "modified"
        case .passed: "passed"
        case .bestAttempt: "best-attempt"
        case .original: "original"
        case .expired: "expired"
        case .deadLetter: "dead-letter"
        }
    }
}

/// How a message ended, and where it goes.
public struct Verdict: Sendable, Equatable {
    public enum Destination: Sendable { case output, deadLetters, nowhere }

    public let outcome: Outcome
    /// Where the delivery's `output` goes. `nowhere` drops an expired message.
    public let destination: Destination
    /// For dead letters.
    public let reason: DeadLetterReason?

    init(_ outcome: Outcome, to destination: Destination = .output, _ reason: DeadLetterReason? = nil) {
        self.outcome = outcome
        self.destination = destination
        self.reason = reason
    }
}
