import Testing

@testable import Stores

struct StartPositionTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let file: StartPosition.Mark?
        let group: StartPosition.Committed
        var end: Int64 = 100
        let expected: StartPosition

        init(
            _ what: String, file: (Int64, Int)? = nil, group: StartPosition.Committed = .nothing, end: Int64 = 100,
            _ expected: StartPosition
        ) {
            testDescription = what
            self.file = file.map { StartPosition.Mark(next: $0, doneBeyond: $1) }
            self.group = group
            self.end = end
            self.expected = expected
        }

        static func ours(_ next: Int64, _ doneBeyond: Int = 0) -> StartPosition.Committed {
            .byUs(StartPosition.Mark(next: next, doneBeyond: doneBeyond))
        }
    }

    @Test(
        "The further of file and group counts, except where somebody has moved the group",
        arguments: [
            Row("nobody was here", .reset),
            Row("the first commit was lost", file: (5, 0), .file),
            Row(
                "a partition served elsewhere, or before there was a badge stage", group: Row.ours(5),
                .group(.countsAreMissing)),
            Row("a group of another program", group: .byOthers, .group(.countsAreMissing)),
            Row("an orderly stop", file: (5, 2), group: Row.ours(5, 2), .file),
            Row("a crash before the commit", file: (7, 0), group: Row.ours(5, 2), .file),
            Row("a crash before a commit that only filled gaps", file: (5, 3), group: Row.ours(5, 2), .file),
            Row("another instance went on", file: (5, 0), group: Row.ours(6), .group(.countsMayBeStale)),
            Row("another instance filled gaps", file: (5, 1), group: Row.ours(5, 2), .group(.countsMayBeStale)),
            Row("rewound by an operator", file: (50, 0), group: .byOthers, .group(.movedByOperator)),
            Row("up to the end", file: (98, 2), group: Row.ours(98, 2), .file),
            Row("beyond the end", file: (101, 0), group: Row.ours(101), .fileIsForeign),
            Row("gaps beyond the end", file: (99, 2), .fileIsForeign),
            Row("beyond the end, moved by an operator", file: (101, 0), group: .byOthers, .fileIsForeign),
            Row("an empty log made anew", file: (1, 0), group: Row.ours(1), end: 0, .fileIsForeign),
            Row("nonsense in the file", file: (.max, 1), .fileIsForeign),
        ])
    func decision(_ row: Row) {
        #expect(StartPosition(file: row.file, group: row.group, end: row.end) == row.expected)
    }
}
