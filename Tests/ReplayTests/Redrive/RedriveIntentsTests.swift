import Glibc
import PushmillKafka
import PushmillPayload
import PushmillTestSupport
import Testing

@testable import PushmillReplay

@Suite("Redrives that end before the journal has what was sent", .ownThread)
struct RedriveIntentsTests {
    private let broker: Broker
    private let folder: TemporaryFolder
    private var path: String { "\(folder.path)/journal" }

    init() throws {
        broker = try Broker(topics: [("events", 2), ("dead", 1)])
        folder = try TemporaryFolder()
    }

    private func letter(_ payload: String, offset: Int) -> RecordEnvelope {
        RecordEnvelope(
            payload,
            headers: [
                ("pushmill.error.reason", "not-json"), ("pushmill.error.topic", "events"),
                ("pushmill.error.partition", "1"), ("pushmill.error.offset", "\(offset)"),
                ("pushmill.error.attempt", "1"),
            ])
    }

    private func letters() async throws -> [DeadLetter] {
        try await broker.read(TopicRange(topic: "dead")).compactMap(DeadLetter.init)
    }

    private func input() async throws -> [String] {
        try await broker.read(TopicRange(topic: "events")).map(\.payloadText)
    }

    private func redrive(
        journal: String? = nil, isDry: Bool = false, isOver: () -> Bool = { false },
        report: (DeadLetter, Redrive.Fate) -> Void = { _, _ in }
    ) async throws -> Redrive.Tally {
        var redrive = Redrive()
        redrive.isDry = isDry
        return try await redrive.run(
            try TopicRecords(TopicRange(topic: "dead"), broker.properties), to: ["events"], journal: journal ?? path,
            broker.properties, broker.properties, isOver: isOver, report: report)
    }

    @Test("Letters that a killed run has sent are not sent again, the others are")
    func killed() async throws {
        try broker.publish([letter("a", offset: 0)], to: "dead")
        try await expect(redrive(), is: [.sent: 1])
        try broker.publish(["a", "b", "c", "d"].enumerated().map { letter($1, offset: $0 + 1) }, to: "dead")
        let meant = Array(try await letters().dropFirst())
        do {
            let journal = try RedriveJournal(path: path, isDry: false)
            try journal.begin(meant, ends: try InputLogs(broker.properties).ends(of: ["events"]))
            try broker.publish([meant[1].restored, meant[3].restored], to: "events")
        }
        try await expect(redrive(isDry: true), is: [.done: 3, .sent: 2])
        // The letter with the same content was sent before, by another run.
        try await expect(redrive(), is: [.done: 3, .sent: 2])
        try await expect(input().sorted(), is: ["a", "a", "b", "c", "d"])
        expect(folder.names.sorted(), is: ["journal", "journal.lock"])
        try await expect(redrive(), is: [.done: 5])
    }

    @Test("Of two letters with the same content, the one that the journal has was sent")
    func same() async throws {
        try broker.publish([letter("a", offset: 0), letter("a", offset: 1)], to: "dead")
        let meant = try await letters()
        do {
            let journal = try RedriveJournal(path: path, isDry: false)
            try journal.begin(meant, ends: try InputLogs(broker.properties).ends(of: ["events"]))
            try broker.publish([meant[1].restored], to: "events")
            journal.add(meant[1].record)
            try journal.flush()
        }
        var sent: [Int64] = []
        let tally = try await redrive(report: { if $1 == .sent { sent.append($0.record.offset) } })
        expect(tally, is: [.done: 1, .sent: 1])
        expect(sent, is: [0])
    }

    @Test(
        "A file that was not written to its end means that nothing was sent",
        arguments: ["", "#redrive-intents 1\nevents/1/0\ndead/0/0 1", "\0\0\0"])
    func torn(_ text: String) async throws {
        try folder.write(text, to: "journal.sending")
        try broker.publish([letter("a", offset: 0)], to: "dead")
        try await expect(redrive(), is: [.sent: 1])
    }

    @Test("A newer release's file is refused before anything is sent")
    func newer() async throws {
        try folder.write("#redrive-intents 2\n.\n", to: "journal.sending")
        try broker.publish([letter("a", offset: 0)], to: "dead")
        let error = await #expect(throws: ReplayError.self) { try await redrive() }
        expect(error.map { "\($0)".contains("written by a newer release") }, is: true)
        #expect(try await input().isEmpty)
    }

    @Test("A redrive that is told to end while it looks for letters sends none, and the next run looks again")
    func over() async throws {
        try broker.publish([letter("a", offset: 0)], to: "dead")
        let meant = try await letters()
        do {
            let journal = try RedriveJournal(path: path, isDry: false)
            try journal.begin(meant, ends: try InputLogs(broker.properties).ends(of: ["events"]))
            try broker.publish([meant[0].restored], to: "events")
        }
        try await expect(redrive(isOver: { true }), is: [:])
        try await expect(redrive(), is: [.done: 1])
        try await expect(input(), is: ["a"])
    }

    @Test("If the journal cannot be created, nothing is sent")
    func uncreated() async throws {
        try broker.publish([letter("a", offset: 0)], to: "dead")
        try #require(symlink("\(folder.path)/missing/journal", path) == 0)
        let error = await #expect(throws: ReplayError.self) { try await redrive() }
        expect(error?.description.hasSuffix("journal: No such file or directory: no letter is sent"), is: true)
        try await expect(input(), is: [])
    }

    @Test(
        "If the journal's disk is full, nothing is sent",
        .enabled(if: SmallDisk.mayMount, "needs the right to mount"))
    func fullDisk() async throws {
        let disk = try SmallDisk()
        try disk.fill()
        let journal = "\(disk.folder.path)/journal"
        try broker.publish((0..<3).map { letter("\($0)", offset: $0) }, to: "dead")
        let error = await #expect(throws: ReplayError.self) { try await redrive(journal: journal) }
        expect(error?.description.hasSuffix("journal.sending: No space left on device: no letter is sent"), is: true)
        #expect(try await input().isEmpty)
        disk.makeRoom()
        try await expect(redrive(journal: journal), is: [.sent: 3])
        try await expect(redrive(journal: journal), is: [.done: 3])
    }

    @Test(
        "Letters that the journal could not record are reported as sent, and the next run finds them",
        .enabled(if: SmallDisk.mayMount, "needs the right to mount"))
    func filling() async throws {
        let disk = try SmallDisk()
        let journal = "\(disk.folder.path)/journal"
        try broker.publish((0..<3).map { letter("\($0)", offset: $0) }, to: "dead")
        var told: [Redrive.Fate] = []
        let error = await #expect(throws: ReplayError.self) {
            try await redrive(
                journal: journal,
                isOver: {
                    if access("\(journal).sending", F_OK) == 0 { try? disk.fill() }
                    return false
                }, report: { told.append($1) })
        }
        let outcome = "the last letters sent are not recorded; the next run looks for them in the input"
        expect(error?.description.hasSuffix("journal: No space left on device: \(outcome)"), is: true)
        // A batch has what brokers have returned by then, up to all three.
        #expect(!told.isEmpty && told.allSatisfy { $0 == .sent })
        disk.makeRoom()
        let next = try await redrive(journal: journal)
        expect(next[.done], is: told.count)
        try await expect(input().count, is: 3)
    }
}
