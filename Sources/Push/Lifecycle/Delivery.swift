/// One message on its way through the chain; reused for the next when its verdict has been carried out.
///
/// Unchecked because ownership moves at run time: the lane has it, except while a stage that may suspend runs. Then it
/// is his who gets the claim, which a mutex gives away once: the stage that returns in time, the lane's timer, or
/// another thread when the lane's is stuck. A loser touches nothing but the claim. With one owner at a time there is no
/// access to exclude at run time, which every message would pay for.
public final class Delivery: @unchecked Sendable {
    /// To be filled before `Chain.begin`.
    @exclusivity(unchecked) public private(set) var record = InputRecord()
    /// What the last verdict publishes.
    @exclusivity(unchecked) public internal(set) var output = OutputRecord()
    /// What that does to the recipient's count.
    @exclusivity(unchecked) public internal(set) var badgeOperation: BadgeOperation?
    /// How the stages ended, in the order of the chain.
    @exclusivity(unchecked) public internal(set) var results: [StageResult] = []
    /// How long they took, in nanoseconds; 0 for those that did not run, or where nothing is measured.
    @exclusivity(unchecked) public internal(set) var times: [UInt64] = []
    /// When the message leaves at the latest.
    @exclusivity(unchecked) public internal(set) var deadline = Instant.never
    /// The deadline, or the end of the running stage's budget if that is earlier.
    @exclusivity(unchecked) public internal(set) var nextWakeUp = Instant.never

    /// The best attempt: while a stage runs that may suspend, what there was before it. Nil while `run` has it.
    @exclusivity(unchecked) package internal(set) var content: NotificationContent? = NotificationContent()
    /// The content as it came.
    @exclusivity(unchecked) var untouched: JSONDocument.Mark?
    /// Whether the record is a CloudEvent, this one, and its data the payload.
    @exclusivity(unchecked) var isStructured = false
    @exclusivity(unchecked) var event: CloudEvent?
    @exclusivity(unchecked) var wallClock: Int64 = 0
    @exclusivity(unchecked) var count: Int32?
    /// The stage that runs or is next.
    @exclusivity(unchecked) var position = 0
    let claim = Claim()
    /// Without one nothing is counted, and the caller sees to deadlines on its own.
    public weak var host: (any DeliveryHost)?
    @exclusivity(unchecked) private var hasSuspended = false

    public init(host: (any DeliveryHost)? = nil) { self.host = host }

    /// Makes the delivery ready for another message. Not inlined for the same reason as `InputRecord.fill`.
    @inline(never)
    public func clear() {
        // A stage that is still running, or has kept its context, goes on reading the old record.
        if isKnownUniquelyReferenced(&record) { record.clear() } else { record = InputRecord() }
        if hasSuspended {
            claim.forgetTask()
            hasSuspended = false
        }
    }

    /// The task in which the delivery has suspended: it is cancelled when the delivery is taken from its stage. Called by
    /// the lane.
    public func suspended(in task: Task<Void, Never>) {
        hasSuspended = true
        claim.setTask(task)
    }

    func takeContent() -> NotificationContent {
        guard let content = content.take() else { preconditionFailure("another has this delivery") }
        return content
    }

    func prepare(stages: Int, deadline: Instant, wallClock: Int64) {
        self.deadline = deadline
        self.wallClock = wallClock
        nextWakeUp = deadline
        count = nil
        position = 0
        isStructured = false
        badgeOperation = nil
        output.clear()
        record.index()
        if results.count != stages {
            results = Array(repeating: .skipped, count: stages)
            times = Array(repeating: 0, count: stages)
        }
        for stage in 0..<stages {
            results[stage] = .skipped
            times[stage] = 0
        }
    }

    /// What APNs takes.
    var sizeLimit: Int { record.value(of: .apnsPushType)?.hasBytes("voip") == true ? 5120 : 4096 }

    /// Makes the content the output's value; gives the number of bytes.
    func write(_ content: NotificationContent) -> Int {
        guard content.isEdited || isStructured else {
            output.setValue(record.value)
            return record.value?.count ?? 0
        }
        return output.render(content)
    }
}
