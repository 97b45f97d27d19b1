import Testing

/// A step of a scripted history, on a cluster with one topic of one partition, and one group.
enum ClusterStep: Sendable {
    /// Takes over the transactional ID, and waits until a transaction that another producer left open has ended.
    case open(producer: String, name: String)
    case begin(String)
    /// All values in one batch, each with the key before its colon. A nil producer sends without transactions.
    case send(String?, [String], ClusterAnswer = .done)
    /// A batch with a timestamp that is too far ahead.
    case sendFromFuture(String?, [String], ClusterAnswer)
    case addOffset(String, member: String, Int64, ClusterAnswer = .done)
    case commit(String, ClusterAnswer = .done)
    case abort(String, ClusterAnswer = .done)
    /// Waits longer than a transaction may be open.
    case waitForTransactionTimeout
    /// Joins until the group is stable, with every member that has joined before and not left or failed.
    case join(member: String, instance: String? = nil)
    /// Commits with the generation that this member knows.
    case commitOffset(member: String, Int64, ClusterAnswer = .done)
    /// Stops silently, for longer than a session.
    case vanish(member: String)
    case leave(member: String)
    case compact
    case expectCommitted([String])
    /// Includes uncommitted and aborted records.
    case expectAll([String])
    /// Nil if nothing is committed.
    case expectOffset(Int64?)
    /// The committed offset is pending: a request for it has to wait.
    case expectOffsetPending
}

enum ClusterAnswer: Sendable, Equatable { case done, refused, fenced, illegalGeneration, unknownMember }

/// A cluster on which histories can be played: the simulated one, or a real one that must answer alike.
protocol ClusterUnderTest {
    /// Plays a step. Returns how the outcome differs from what the step expects, if it does.
    mutating func play(_ step: ClusterStep) throws -> String?
}

struct ClusterHistory: Sendable, CustomTestStringConvertible {
    let name: String
    let steps: [ClusterStep]

    var testDescription: String { name }

    static let all: [ClusterHistory] = [
        ClusterHistory(
            name: "A producer that takes over a name aborts what is open under it and fences the one before",
            steps: [
                .open(producer: "one", name: "t"), .begin("one"), .send("one", ["k:a"]),
                .open(producer: "two", name: "t"), .send("one", ["k:b"], .fenced), .commit("one", .fenced),
                .begin("two"), .send("two", ["k:c"]), .commit("two"),
                .expectCommitted(["k:c"]), .expectAll(["k:a", "k:c"]),
            ]),
        ClusterHistory(
            name: "Readers of what is committed stop before the first open transaction",
            steps: [
                .open(producer: "one", name: "t"), .begin("one"), .send("one", ["k:a"]), .send(nil, ["k:b"]),
                .expectCommitted([]), .expectAll(["k:a", "k:b"]), .commit("one"), .expectCommitted(["k:a", "k:b"]),
            ]),
        ClusterHistory(
            name: "What was aborted is passed over",
            steps: [
                .open(producer: "one", name: "t"), .begin("one"), .send("one", ["k:a"]), .send(nil, ["k:b"]),
                .abort("one"), .expectCommitted(["k:b"]),
            ]),
        ClusterHistory(
            name: "A transaction that is open for too long is aborted and its producer fenced",
            steps: [
                .open(producer: "one", name: "t"), .begin("one"), .send("one", ["k:a"]), .waitForTransactionTimeout,
                .commit("one", .fenced), .expectCommitted([]),
            ]),
        ClusterHistory(
            name: "Offsets of a transaction are held back until it ends",
            steps: [
                .join(member: "m"), .open(producer: "one", name: "t"), .begin("one"), .addOffset("one", member: "m", 5),
                .expectOffsetPending, .commit("one"), .expectOffset(5),
                .begin("one"), .addOffset("one", member: "m", 7), .abort("one"), .expectOffset(5),
            ]),
        ClusterHistory(
            name: "A member of an earlier generation commits nothing",
            steps: [
                .join(member: "m"), .commitOffset(member: "m", 3), .vanish(member: "m"), .join(member: "n"),
                .commitOffset(member: "m", 4, .unknownMember), .expectOffset(3), .commitOffset(member: "n", 5),
                .expectOffset(5),
            ]),
        ClusterHistory(
            name: "A transaction takes no offsets of a member that is gone",
            steps: [
                .join(member: "m"), .vanish(member: "m"), .join(member: "n"), .open(producer: "one", name: "t"),
                .begin("one"), .addOffset("one", member: "m", 4, .unknownMember), .abort("one"), .expectOffset(nil),
            ]),
        ClusterHistory(
            name: "A static member that comes back fences the one before",
            steps: [
                .join(member: "m", instance: "i"), .commitOffset(member: "m", 3), .join(member: "n", instance: "i"),
                .commitOffset(member: "m", 4, .fenced), .commitOffset(member: "n", 5), .expectOffset(5),
            ]),
        ClusterHistory(
            name: "Members commit by the generation that they joined last",
            steps: [
                .join(member: "m"), .commitOffset(member: "m", 3), .join(member: "n"),
                .commitOffset(member: "m", 4), .leave(member: "n"), .join(member: "m"), .commitOffset(member: "m", 5),
                .expectOffset(5),
            ]),
        ClusterHistory(
            name: "Compaction keeps the last record of each key, at its offset, and does not look at the last batch",
            steps: [
                .send(nil, ["a:1"]), .send(nil, ["b:1"]), .send(nil, ["a:2"]), .send(nil, ["b:2"]), .compact,
                .expectAll(["b:1", "a:2", "b:2"]),
            ]),
        ClusterHistory(
            name: "One record that is refused fails its whole batch",
            steps: [
                .send(nil, ["a:1"]), .sendFromFuture(nil, ["b:1", "c:1"], .refused), .send(nil, ["d:1"]),
                .expectAll(["a:1", "d:1"]),
            ]),
        ClusterHistory(
            name: "A refused record's transaction can be aborted, and the next one committed",
            steps: [
                .open(producer: "one", name: "t"), .begin("one"), .send("one", ["a:1"]),
                .sendFromFuture("one", ["b:1"], .refused), .abort("one"), .begin("one"), .send("one", ["c:1"]),
                .commit("one"), .expectCommitted(["c:1"]),
            ]),
    ]
}
