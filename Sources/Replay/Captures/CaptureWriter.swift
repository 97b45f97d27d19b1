import PushmillStages

/// A capture, or a golden one, being written. The one before stays until the new one is complete.
package final class CaptureWriter {
    private var file: ReportFile

    package init(path: String) throws(ReplayError) { file = try ReportFile(path: path) }

    package func add(_ line: [UInt8]) throws(ReplayError) { try file.write(line) }

    package func close() throws(ReplayError) { try file.close() }
}
