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
