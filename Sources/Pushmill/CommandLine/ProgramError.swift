import PushmillReplay
package import PushmillStages
import PushmillStores
package import PushmillTelemetry

/// Why a command ends early.
package enum ProgramError: Error {
    case usage(String)
    case unreadableConfiguration(String)
    /// In the order of the file; those of environment variables come last.
    case configuration([SettingProblem])
    /// Input that cannot be read.
    case badData(String)
    case internalFailure(String)
    /// A problem outside this process, which may be fixed there: a service waits for that.
    case outside(ProbeReason)

    package var exitCode: ExitCode {
        switch self {
        case .usage: .usage
        case .unreadableConfiguration, .configuration: .configuration
        case .badData: .badData
        case .internalFailure, .outside: .internalFailure
        }
    }
}

extension ProgramError: CustomStringConvertible {
    package var description: String {
        guard case .configuration = self else { return "pushmill: \(messages.joined())" }
        return messages.joined(separator: "\n")
    }

    /// One sentence each.
    var messages: [String] {
        switch self {
        case .usage(let message), .unreadableConfiguration(let message), .badData(let message),
            .internalFailure(let message):
            [message]
        case .outside(let reason): [reason.detail]
        case .configuration(let problems): problems.map(\.description)
        }
    }
}

extension ProgramError {
    /// Files and input that cannot be opened or read are bad data; any other error is an internal failure.
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

/// Throws a `ProgramError` of `body` as it is, and any other error as this kind, with a text that begins with `what`.
func explaining<Result>(
    _ what: String = "", as kind: (String) -> ProgramError = ProgramError.internalFailure, _ body: () throws -> Result
) throws(ProgramError) -> Result {
    do {
        return try body()
    } catch let error as ProgramError {
        throw error
    } catch {
        throw kind(what.isEmpty ? "\(error)" : "\(what): \(error)")
    }
}

/// The exit code of the process, numbered as in `sysexits.h`.
package enum ExitCode: Int32, CaseIterable, Sendable {
    case success = 0
    /// Something differs, is unhealthy or is incomplete.
    case different = 1
    case usage = 64
    case badData = 65
    case internalFailure = 70
    case configuration = 78
}
