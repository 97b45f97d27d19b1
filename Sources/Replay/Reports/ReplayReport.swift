import PushmillStages

/// A file that tells what a replay has found.
package protocol ReplayReport: AnyObject {
    /// One record that is not as it was, in the order of the input.
    func add(_ change: RecordChange) throws(ReplayError)

    /// Completes the file. Once, after the last change.
    func finish(_ summary: ReplaySummary) throws(ReplayError)
}

/// Text for a report that appears when it is complete.
struct ReportFile: ~Copyable {
    private var file: OutputFile?

    init(path: String) throws(ReplayError) {
        file = try filed { () throws(FileFailure) in try OutputFile(path: path) }
    }

    mutating func write(_ bytes: [UInt8]) throws(ReplayError) {
        try filed { () throws(FileFailure) in try file?.write(bytes) }
    }

    mutating func write(_ text: String) throws(ReplayError) { try write(Array(text.utf8)) }

    mutating func close() throws(ReplayError) {
        guard let file = file.take() else { return }
        do throws(FileFailure) { try file.close() } catch { throw .file(error) }
    }
}
