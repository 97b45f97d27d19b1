import Glibc
import PushmillTestSupport
import Testing

/// Runs another program, as a shell would.
enum Tool {
    struct Failed: Error, CustomStringConvertible {
        let description: String
    }

    /// Returns the standard output; throws the standard error if the command fails. `input` is a file.
    static func run(_ command: String, input: String = "/dev/null") throws -> String {
        let complaints = try TemporaryFolder()
        let program = try #require(popen("\(command) < '\(input)' 2> '\(complaints.path)/stderr'", "r"))
        let output = read(program)
        guard pclose(program) == 0 else {
            let file = try #require(fopen("\(complaints.path)/stderr", "r"))
            defer { fclose(file) }
            throw Failed(description: "\(command): \(read(file))")
        }
        return output
    }

    private static func read(_ file: UnsafeMutablePointer<FILE>) -> String {
        var bytes: [UInt8] = []
        while let byte = UInt8(exactly: fgetc(file)) { bytes.append(byte) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
