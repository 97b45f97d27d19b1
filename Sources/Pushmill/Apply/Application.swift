import PushmillPayload
import PushmillReplay
import PushmillStages
import PushmillTelemetry
import Synchronization

/// The chain applied to what comes from the input.
struct Application {
    let candidate: Candidate
    let rehearsal: Rehearsal
    let console: Console
    let explanation: Explanation?

    /// In bytes. A longer payload or line of a record is refused, to save memory.
    private static let limit = 64 << 20

    /// Takes the payload from the input and the rest of the record from the caller.
    func apply(_ record: RecordEnvelope) async throws(ProgramError) -> ExitCode {
        var record = record
        record.timestamp = WallClock.system.now() / 1_000_000
        record.payload = try console.wholeInput(limit: Self.limit)
        let result = await rehearsal.run(record, wallClock: record.timestamp)
        console.error(result.summary)
        let destination = result.verdict.destination
        if destination == .output { console.output(String(decoding: result.output.payload ?? [], as: UTF8.self)) }
        return destination == .deadLetters ? .badData : .success
    }

    /// Takes records from the input, one a line, and writes the results in the same form.
    func applyLines() async throws(ProgramError) -> ExitCode {
        var lines = LineReader()
        while !Console.hasFailed, let line = try next(&lines) {
            guard line.contains(where: { $0 > 0x20 }) else { continue }
            let record: RecordEnvelope
            do throws(EnvelopeError) {
                record = try RecordEnvelope(line: Array(line))
            } catch {
                throw .badData("line \(lines.number): \(error)")
            }
            explanation?.begin("line \(lines.number)")
            let result = await rehearsal.run(record, wallClock: record.timestamp)
            if explanation != nil { console.error(result.summary) }
            guard let output = candidate.output(of: result) else { continue }
            var text: [UInt8] = []
            output.append(to: &text)
            console.output(String(decoding: text, as: UTF8.self))
        }
        return .success
    }

    private func next(_ lines: inout LineReader) throws(ProgramError) -> ArraySlice<UInt8>? {
        let number = lines.number + 1
        return try lines.next { count throws(ProgramError) in
            guard count <= Self.limit else { throw .badData("line \(number): longer than \(Self.limit >> 20) MiB") }
            return try console.input()
        }
    }
}

extension Rehearsal.Result {
    /// How the message ended, on one line: `modified: decrypt=ok,localize=ok`.
    package var summary: String {
        let name = "\(verdict.outcome.name)"
        switch verdict.destination {
        case .output: return "\(name): \(header("pushmill-stages"))"
        case .deadLetters:
            return "\(name): \(header("pushmill.error.reason")): \(header("pushmill.error.message"))"
        case .nowhere: return "\(name): dropped"
        }
    }

    private func header(_ name: StaticString) -> String { output.text(name) ?? "" }
}

/// Reports what each stage did to a message, and how long it took.
final class Explanation: ChainObserver {
    private struct State {
        var names: [String] = []
        var content: NotificationContent?
    }

    private let console: Console
    private let state = Mutex(State())

    init(_ console: Console) { self.console = console }

    /// The stages, in the order of the chain.
    func name(_ stages: [String]) { state.withLock { $0.names = stages } }

    /// Prints a heading for what follows.
    func begin(_ title: String) { console.error("\(title):") }

    func stagesWillBegin(_ content: NotificationContent) { state.withLock { $0.content = content } }

    func stageEnded(_ stage: Int, _ result: StageResult, nanoseconds: UInt64, content: NotificationContent) {
        let (name, before) = state.withLock { state -> (String, NotificationContent?) in
            defer { state.content = content }
            return (state.names[stage], state.content)
        }
        console.error("  \(name): \(result), \(nanoseconds / 1000).\(nanoseconds / 100 % 10) us")
        guard let before else { return }
        for difference in JSONDifference.between(before.document, content.document) {
            console.error("    \(difference)")
        }
    }

    func stageAbandoned(_ stage: Int, isLate: Bool) {
        console.error("  \(state.withLock { $0.names[stage] }): ran out of time")
    }

    func abandonedStageEnded(_ stage: Int) {}
}
