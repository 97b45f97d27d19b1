import PushmillPayload
import PushmillTestSupport
import Testing

@testable import PushmillReplay

@Suite("Reports")
struct ReportTests {
    private let folder: TemporaryFolder
    private let malicious =
        "</script><script>document.title='run'</script><img src=x onerror=alert(1)>\u{202E}txet \u{0}"

    init() throws { folder = try TemporaryFolder() }

    /// Replays events, of which the first has the title `title`, with a changed translation.
    private func replay(_ reports: [any ReplayReport], count: Int = 100, title: String = "x") async throws {
        var events = Scene.events(count)
        let payload = JSONDocument.quoted(title)
        events[0].payload = Array(
            #"{"aps":{"alert":{"title":\#(payload),"loc-key":"BYE"},"mutable-content":1}}"#.utf8)
        let golden = try await Scene().outputs(events)
        var scene = Scene()
        scene.phrases.texts["BYE"] = "Farewell \(title)"
        let baseline = try await Baseline([Recording(golden)], isWider: false)
        let run = ReplayRun(Recording(events), scene.candidate, baseline: baseline, keepsLines: false)
        let summary = try await run.run(report: { change throws(ReplayError) in
            for report in reports { try report.add(change) }
        })
        for report in reports { try report.finish(summary) }
    }

    private func integer(_ document: JSONDocument, _ pointer: String) -> Int? {
        JSONPointer(pointer).flatMap { document.node(at: $0) }.flatMap(document.integer)
    }

    /// The JSON, JUnit and HTML reports of a replay on several lanes, with changes of every kind.
    private func reports(_ name: String) async throws -> [[UInt8]] {
        let events = Scene.events(600)
        var golden = try await Scene().outputs(events)
        for index in golden.indices {
            // Names that are not text, so all are shown the same.
            golden[index].headers += (0..<index % 7).map { RecordEnvelope.Header(name: [0x80 + UInt8($0)], value: []) }
        }
        var scene = Scene()
        scene.phrases.texts["BYE"] = "Farewell \(malicious)"
        var settings = ReplayRun.Settings()
        settings.lanes = 3
        let run = ReplayRun(
            Recording(Array(events.dropLast(20))), scene.candidate,
            baseline: try await Baseline([Recording(Array(golden.dropFirst(20)))], isWider: false),
            keepsLines: false, settings: settings)
        let paths = ["json", "xml", "html"].map { "\(name).\($0)" }
        let reports: [any ReplayReport] = [
            try JSONReport(path: "\(folder.path)/\(paths[0])"), try JUnitReport(path: "\(folder.path)/\(paths[1])"),
            try HTMLReport(path: "\(folder.path)/\(paths[2])"),
        ]
        let summary = try await run.run(report: { change throws(ReplayError) in
            for report in reports { try report.add(change) }
        })
        #expect(summary.changed > 400 && summary.new == 20 && summary.missing == 20)
        for report in reports { try report.finish(summary) }
        return try paths.map { try folder.read($0) }
    }

    @Test("Two replays of the same records give byte-identical reports")
    func identical() async throws {
        let first = try await reports("first")
        for (number, bytes) in try await reports("second").enumerated() {
            #expect(!bytes.isEmpty && bytes == first[number], "report \(number)")
        }
    }

    @Test("The JSON report holds every difference and the totals")
    func json() async throws {
        try await replay([try JSONReport(path: "\(folder.path)/report.json")], title: malicious)
        let document = try JSONDocument(bytes: try folder.read("report.json"))
        expect(integer(document, "/summary/records"), is: 100)
        expect(integer(document, "/summary/changed"), is: 21)
        expect(integer(document, "/summary/fields/0/count"), is: 21)
        expect(integer(document, "/summary/outcomes/modified/after"), is: 98)
        let differences = try #require(JSONPointer("/differences").flatMap { document.node(at: $0) })
        expect(document.childCount(of: differences), is: 21)
        let title = JSONPointer("/differences/0/after/title").flatMap { document.node(at: $0) }
        expect(title.flatMap(document.string), is: malicious)
    }

    @Test("The JUnit report counts its cases and stays well-formed whatever records contain")
    func junit() async throws {
        try await replay([try JUnitReport(path: "\(folder.path)/report.xml")], count: 5500, title: malicious)
        let text = try folder.text("report.xml")
        let cases = text.matches(of: #/<testcase /#).count
        let failures = text.matches(of: #/<failure /#).count
        #expect(text.contains(#"<testsuites name="pushmill replay" tests="\#(cases)" failures="\#(failures)">"#))
        expect(failures, is: 1001)
        #expect(text.contains("101 further records"))
        #expect(!text.contains("<script"))
        #expect(!text.contains("\u{0}"))
        #expect(text.contains("&lt;script&gt;"))
    }

    @Test("Nothing in a record becomes markup on the HTML page")
    func html() async throws {
        try await replay([try HTMLReport(path: "\(folder.path)/report.html")], title: malicious)
        let text = try folder.text("report.html")
        expect(text.matches(of: #/<script/#).count, is: 3)
        expect(text.matches(of: #/<\/script>/#).count, is: 3)
        #expect(!text.contains("<img"))
        #expect(text.contains("\\u003cimg src=x onerror=alert(1)>"))
    }

    @Test(
        "Long reports hold the first differences, and then the first of other kinds, and say how many",
        arguments: [
            (true, 50_000), (false, 1_000),
        ])
    func limit(isPage: Bool, most: Int) throws {
        let path = "\(folder.path)/report"
        let report: any ReplayReport = isPage ? try HTMLReport(path: path) : try JUnitReport(path: path)
        let side = RecordSide(RecordEnvelope(#"{"aps":{"alert":"x"}}"#))
        for index in 0..<most + 100 {
            try report.add(
                RecordChange(kind: .new, source: "events/0/\(index)", before: nil, after: side, fields: []))
        }
        for index in 0..<100 {
            try report.add(
                RecordChange(kind: .missing, source: "events/1/\(index)", before: side, after: nil, fields: []))
        }
        try report.finish(ReplaySummary())
        let text = try folder.text("report")
        for (name, isThere) in [
            ("0/\(most - 1)", true), ("0/\(most)", false), ("1/19", true), ("1/20", false),
        ] { expect(text.contains("events/\(name)\""), is: isThere) }
        #expect(text.contains(isPage ? #""shown":50020"# : "80 further records"))
    }

    @Test("The summary escapes characters that would move the cursor or reverse text")
    func summary() async throws {
        let events = Scene.events(10)
        var golden = try await Scene().outputs(events)
        // Other programs may write to the topic of outputs, too.
        golden[0].setHeader("pushmill-outcome", to: "\u{1B}[2Jmodified")
        var scene = Scene()
        scene.phrases.texts["BYE"] = "\u{1B}[2J\u{202E}evil"
        let text = SummaryText.of(try await scene.replay(events, against: golden).summary)
        #expect(text.contains("/aps/alert/body changed in 2 of 10"))
        #expect(text.contains(#"+ "\u001b[2J\u{202E}evil""#))
        #expect(text.contains("\\u{1B}[2Jmodified  0 (was 1)"))
        #expect(!text.contains("\u{1B}"))
    }

    private func begin(_ kind: String, _ name: String) throws -> any ReplayReport {
        let path = "\(folder.path)/\(name)"
        switch kind {
        case "json": return try JSONReport(path: path)
        case "junit": return try JUnitReport(path: path)
        default: return try HTMLReport(path: path)
        }
    }

    @Test("A report that is never finished leaves nothing behind", arguments: ["json", "junit", "html"])
    func unfinished(kind: String) throws {
        var report: (any ReplayReport)? = try begin(kind, "report")
        expect(folder.names, is: ["report.partial"])
        report = nil
        #expect(report == nil)
        expect(folder.names, is: [])
    }

    @Test("A report that cannot be written is an error before the replay", arguments: ["json", "junit", "html"])
    func unwritable(kind: String) {
        #expect(throws: ReplayError.self) { try begin(kind, "none/report") }
    }
}

extension JSONDocument {
    fileprivate static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.append(quoted: text)
        return String(decoding: bytes, as: UTF8.self)
    }
}
