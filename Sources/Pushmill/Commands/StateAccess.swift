import Glibc
import PushmillStores

/// The embedded state, for commands that look at it or change it.
extension Invocation {
    /// The file that the configuration names. Only commands that fill it may create it.
    func stateFile(_ access: StateFile.Access, creating: Bool = false) throws(ProgramError) -> StateFile {
        let path = try configuration().state.path
        guard creating || Glibc.access(path, F_OK) == 0 else { throw .badData("there is no state at \(path)") }
        return try store { () throws(StoreError) in try StateFile(path: path, access: access) }
    }

    /// Puts what goes wrong with the state into a command's words.
    func store<Result>(_ body: () throws(StoreError) -> Result) throws(ProgramError) -> Result {
        do throws(StoreError) {
            return try body()
        } catch {
            switch error {
            case .unreadableLine, .unopened: throw .badData("\(error)")
            case .sqlite, .inUse, .newerSchema, .damaged: throw .internalFailure("\(error)")
            }
        }
    }

    /// Prints lines that come with their ends.
    func print(_ lines: [UInt8]) { surroundings.console.output(String(decoding: lines, as: UTF8.self)) }
}

extension String {
    /// The UTF-8, for what takes bytes.
    func withBytes<Result, E: Error>(_ body: (RawSpan) throws(E) -> Result) throws(E) -> Result {
        let bytes = Array(utf8)
        return try body(bytes.span.bytes)
    }
}
