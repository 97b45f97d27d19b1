package import Push
import Replay

/// Why a command ends early.
package enum ProgramError: Error {
    /// The command line makes no sense.
    case usage(String)
    case unreadableConfiguration(String)
    /// In the order of the file, those of variables last.
    case configuration([SettingProblem])
    /// What was given to read cannot be read.
    case badData(String)
    case internalFailure(String)
    /// Told to end before it had begun.
    case interrupted

    package var exitCode: ExitCode {
        switch self {
        case .usage: .usage
        case .unreadableConfiguration, .configuration: .configuration
        case .badData: .badData
        case .internalFailure: .internalFailure
        case .interrupted: .success
        }
    }
}

extension ProgramError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .usage(let message), .unreadableConfiguration(let message), .badData(let message),
            .internalFailure(let message):
            "pushmill: \(message)"
        case .interrupted: "pushmill: told to end before it had begun"
        case .configuration(let problems): problems.map(\.description).joined(separator: "\n")
        }
    }
}

extension ProgramError {
    /// What a file holds is bad data; brokers and stores are no one's input.
    init(_ error: ReplayError) {
        switch error {
        case .unreadable, .file: self = .badData("\(error)")
        case .kafka, .index: self = .internalFailure("\(error)")
        }
    }
}
