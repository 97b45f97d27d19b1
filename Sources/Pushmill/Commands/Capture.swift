import Glibc
import PushmillKafka
import PushmillReplay
import PushmillStages

extension Command {
    static let capture = Command(
        name: "capture", summary: "Writes a topic, or part of it, to a file",
        details: """
            Writes each record as a line in the format of kcat -J; bytes that are not text
            are in base64. Reads only committed records, joins no group and commits nothing.
            Without --from it starts at the topic's first record, without --to it ends at
            the topic's current end. Times select each record by its own timestamp, in
            whatever order they are: a time as --to reads on to the topic's end, where late
            records may be. A file whose name ends in .gz is compressed. The file appears
            when it is complete; Ctrl-C completes it. If the brokers fail, a file that did
            not exist before keeps the records read so far.
            """,
        options: [.topic, .config, .file] + Option.range + [.follow, .limit, .redact]
    ) { invocation in
        let configuration = try invocation.configuration()
        var capture = Capture()
        capture.follows = invocation.flag(.follow)
        capture.limit = try invocation.value(.limit, .integer(1...Int.max)) ?? .max
        capture.redaction = invocation.flag(.redact) ? Redaction() : nil
        if capture.follows, invocation.text(.to) != nil {
            throw ProgramError.usage("--follow cannot be combined with --to")
        }
        let path = invocation.text(.file)
        if let path, !CaptureFile.isReplaceable(path) {
            let what = "'\(path)' is not a capture and would be overwritten: choose another file or remove it"
            throw ProgramError.usage("\(Option.file.label): \(what)")
        }
        let topic = invocation.text(.topic) ?? configuration.topics.input.first ?? ""
        let source = try configuration.read(invocation.range(of: topic))
        // Opening a pipe waits for its reader. Until then a signal must end the process, which could not check for it.
        let pipe = path.map { open($0, O_WRONLY | O_CLOEXEC) } ?? -1
        defer { if pipe >= 0 { close(pipe) } }
        _ = Signals.take([SIGINT, SIGTERM])
        // A closed terminal ends the capture too, unless the process ignores SIGHUP (`nohup`).
        var former = sigaction()
        sigaction(SIGHUP, nil, &former)
        if unsafeBitCast(former.__sigaction_handler.sa_handler, to: Int.self) == 0 {
            signal(SIGHUP) { _ in raise(SIGTERM) }
        }
        let console = invocation.console
        let span = capture.follows ? .max : Int(clamping: source.span)
        let total = min(capture.limit, span)
        // Progress would mix with records on the same terminal.
        let isShown = path != nil || !console.isTerminal
        let progress = Progress(isShown ? console.status : nil, total: total == .max ? nil : total)
        defer { progress.clear() }
        if total == span { source.onSkip = progress.skip }
        // The first record may take long to arrive.
        progress.show(0)
        let file = try path.map { path in try ReportFile(path: path) }
        var count = 0
        do {
            count = try capture.run(
                source,
                write: { lines throws(ReplayError) in
                    if let file {
                        try file.write(lines)
                    } else {
                        console.output(String(decoding: lines, as: UTF8.self))
                    }
                },
                isOver: { Signals.isEndWanted || Console.hasFailed },
                progress: {
                    count = $0
                    progress.show($0)
                })
        } catch ReplayError.kafka(let doing, let error) {
            // What was read before the failure need not be read again. An earlier, complete capture is worth more.
            if count > 0, let file, let path, access(path, F_OK) != 0 {
                progress.clear()
                if (try? file.close()) != nil {
                    console.error("\(count) records written to \(path): the capture is incomplete")
                }
            }
            throw ReplayError.kafka(doing: doing, error)
        }
        guard count > 0 || capture.follows || Signals.isEndWanted || Console.hasFailed else {
            throw ReplayError.unreadable(name: source.name, what: "no records in this range")
        }
        progress.clear()
        if let path {
            // An earlier capture is worth more than an empty one.
            if count > 0 { try file?.close() }
            let written = "\(count) records written to \(path)"
            console.error(count > 0 ? written : "no records received: \(path) is unchanged")
        }
        return .success
    }
}

extension Option {
    fileprivate static let topic = operand("TOPIC", "default: the first input topic", isRequired: false)
    fileprivate static let file = value("output", "FILE", "where to write; default: standard output")
    fileprivate static let follow = flag("follow", "keeps following the topic until Ctrl-C")
    fileprivate static let limit = value("limit", "NUMBER", "stops after this many records")
    fileprivate static let redact = flag(
        "redact",
        "replaces texts, names, numbers and tokens with placeholders of the same shape; keeps the names of members")
}
