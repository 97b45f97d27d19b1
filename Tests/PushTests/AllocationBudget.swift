/// How many times the Swift runtime may allocate for one message, once every buffer has its size.
enum AllocationBudget {
    /// Gate, read, three edits of text and render.
    static let payload = 0
    /// Decrypting a field, by any form without key agreement.
    static let decrypt = 0
    /// From the input's headers and gate to the output's, with four stages that change nothing.
    static let chain = 0
    /// One text localized.
    static let localize = 0

    /// Only optimised code is held to them: `swift test -c release`.
    static var holds: Bool {
        #if DEBUG
            false
        #else
            true
        #endif
    }
}
