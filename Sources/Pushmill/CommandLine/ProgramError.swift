import PushmillReplay
package import PushmillStages
import PushmillStores
package import PushmillTelemetry

/// Why a command ends early.
package enum ProgramError: Error {
    case usage(String)
    case unreadableConfiguration(String)
    /// In the order of the file, those of variables last.
    case configuration([SettingProblem])
    /// What was given to read cannot be read.
    case badData(String)
    case internalFailure(String)
    /// What is outside of this process is not as it has to be, and may be mended there: a service waits for it.
    case outside(ProbeReason)
    /// Told to end before it had begun.
    case interrupted

    package var exitCode: ExitCode {
        switch self {
        case .usage: .usage
        case .unreadableConfiguration, .configuration: .configuration
        case .badData: .badData
        case .internalFailure, .outside: .internalFailure
        case .interrupted: .success
        }
    }
}

extension ProgramError: CustomStringConvertible {
    package var description: String {
        guard case .configuration = self else { return "pushmill: \(messages.joined())" }
        return messages.joined(separator: "\n")
    }

    /// A sentence each.
    var messages: [String] {
        switch self {
        case .usage(let message), .unreadableConfiguration(let message), .badData(let message),
            .internalFailure(let message):
            [message]
        case .outside(let reason): [reason.detail]
        case .interrupted: ["told to end before it had begun"]
        case .configuration(let problems): problems.map(\.description)
        }
    }
}

extension ProgramError {
    /// What a file holds is bad data; brokers and stores are no one's input.
    init(_ error: any Error) {
        switch error {
        case let error as ProgramError: self = error
        case is ContactsUnavailable, ReplayError.unreadable, ReplayError.file, ReplayError.index(.unopened),
            StoreError.unreadableLine, StoreError.unopened:
            self = .badData("\(error)")
        default: self = .internalFailure("\(error)")
        }
    }
}

/// Says `what` does not work where something goes wrong in `body`, unless that says so itself.
func explaining<Result>(_ what: String, _ body: () throws -> Result) throws(ProgramError) -> Result {
    do {
        return try body()
    } catch let error as ProgramError {
        throw error
    } catch {
        throw .internalFailure("\(what): \(error)")
    }
}

/// What the process tells its caller; numbers as in `sysexits.h`.
package enum ExitCode: Int32, CaseIterable, Sendable {
    case success = 0
    /// Something differs, is not healthy or is not whole.
    case different = 1
    case usage = 64
    case badData = 65
    case internalFailure = 70
    case configuration = 78
}
