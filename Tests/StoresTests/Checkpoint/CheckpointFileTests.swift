import Glibc
import Push
import TestSupport
import Testing

@testable import Stores

struct CheckpointFileTests {
    let folder: TemporaryFolder
    let state: StateFile
    let counts = Counts()

    init() throws {
        folder = try TemporaryFolder()
        state = try StateFile(path: folder.stateFile, access: .alone)
    }

    private func position(_ partition: Int32, _ next: Int64, _ metadata: String = "") -> PartitionPosition {
        PartitionPosition(topic: "in", partition: partition, next: next, metadata: metadata)
    }

    /// Counts and a position as one checkpoint.
    private func save(
        _ events: [(String, BadgeOperation)], _ position: PartitionPosition? = nil, in file: inout CheckpointFile
    ) throws {
        var pending = PendingCheckpoint()
        for (recipient, operation) in events {
            let change = try #require(try counts.process(recipient, operation))
            pending.counts.acknowledge(change, of: SourceOffset(assignment: 0, offset: 0)) { _ in }
        }
        if let position { pending.add(position) }
        let batch = pending.take()
        let number = try file.save(batch)
        pending.saved(batch, in: number)
    }

    private func stored(_ recipient: String? = nil) throws -> [String] {
        var texts: [String] = []
        let table = try BadgeTable(try StateFile(path: folder.stateFile, access: .shared))
        func add(_ recipient: RawSpan, _ app: RawSpan, _ count: Int32) { texts.append("\(recipient.text)=\(count)") }
        if let recipient {
            try recipient.withBytes { (recipient) throws(StoreError) in try table.forEach(recipient: recipient, add) }
        } else {
            try table.forEach(add)
        }
        return texts.sorted()
    }

    @Test("Counts and positions are there after a restart, and seen by others before it")
    func saving() throws {
        do {
            var file = try CheckpointFile(state)
            try save([("anna", .add(1)), ("boris", .add(2))], position(0, 5, "AQ"), in: &file)
            try save([("anna", .add(3))], position(0, 9, "Ag"), in: &file)
            #expect(try stored() == ["anna=4", "boris=2"])
            #expect(try stored("boris") == ["boris=2"])
            #expect(try file.position(of: "in", 0) == position(0, 9, "Ag"))
        }
        let file = try CheckpointFile(state)
        #expect(try file.position(of: "in", 0) == position(0, 9, "Ag"))
        #expect(try file.position(of: "in", 1) == nil)
        let reader = try BadgeReader(state)
        for (name, count) in [("anna", Int32(4)), ("boris", 2), ("carl", 0)] {
            let found = try name.withBytes { (name) throws(StoreError) in
                try reader.count(recipient: name, app: "".utf8Span.span.bytes, lease: CountLease())
            }
            #expect(found == count)
        }
    }

    @Test("Folding changes nothing that can be seen")
    func folding() throws {
        var file = try CheckpointFile(state)
        try save([("anna", .add(1)), ("boris", .add(2))], in: &file)
        try file.fold()
        try save([("anna", .set(0)), ("carl", .add(1))], in: &file)
        #expect(try stored() == ["anna=0", "boris=2", "carl=1"])
        #expect(file.progress.foldedThrough == 1)
        file.progress.wantRoom()
        try save([], position(0, 1), in: &file)
        #expect(file.progress.foldedThrough == 2)
        #expect(try stored() == ["anna=0", "boris=2", "carl=1"])
    }

    @Test("One person's counts can be set and deleted")
    func personalData() throws {
        var file = try CheckpointFile(state)
        try save([("anna", .add(1)), ("boris", .add(2))], in: &file)
        let table = try BadgeTable(state)
        let deleted = try "anna".withBytes { (anna) throws(StoreError) in
            try table.set(recipient: anna, app: "x".utf8Span.span.bytes, to: 7)
            return try table.delete(recipient: anna)
        }
        #expect(deleted == 2)
        #expect(try stored() == ["boris=2"])
        _ = try CheckpointFile(state)
        #expect(try stored() == ["boris=2"])
    }

    @Test(
        "A file that another group or cluster has written is set aside as a whole",
        arguments: [("c2", "g"), ("c", "g2")])
    func otherOwner(_ cluster: String, _ group: String) throws {
        var file = try CheckpointFile(state)
        #expect(try file.claim(for: .init(cluster: "c", group: "g")) == nil)
        try save([("anna", .add(1))], position(0, 5), in: &file)
        #expect(try file.claim(for: .init(cluster: "c", group: "g")) == nil)
        #expect(try stored() == ["anna=1"])

        let copy = try #require(try file.claim(for: .init(cluster: cluster, group: group)))
        #expect(try stored() == [])
        #expect(try file.position(of: "in", 0) == nil)
        #expect(try file.claim(for: .init(cluster: cluster, group: group)) == nil)
        let old = try CheckpointFile(try StateFile(path: copy, access: .alone))
        #expect(try old.position(of: "in", 0) == position(0, 5))
    }

    @Test("What is set aside twice is kept twice")
    func setAside() throws {
        var file = try CheckpointFile(state)
        let copies = try (0..<2).map { _ in try file.setAside() }
        #expect(Set(copies).count == 2)
        for copy in copies { #expect(access(copy, F_OK) == 0) }
    }

    @Test("A damaged journal is an error that names it")
    func damaged() throws {
        try Database.open(path: folder.stateFile).execute("INSERT INTO badge_journal(counts) VALUES(x'05414141')")
        let error = #expect(throws: StoreError.self) { _ = try CheckpointFile(state) }
        #expect(error == .damaged(path: folder.stateFile, what: "journal of badge counts"))
    }
}
