/// How many times the Swift runtime may allocate for one message, once all buffers have grown to their size.
enum AllocationBudget {
    /// Gate, read, three edits of text and render.
    static let payload = 0
    /// Decrypting a field in any form without key agreement.
    static let decrypt = 0
    /// From the input's headers and gate to the output's headers, with four stages that change nothing.
    static let chain = 0
    /// Localizing one text.
    static let localize = 0

    /// The budgets hold only for optimized code: `swift test -c release`.
    static var holds: Bool {
        #if DEBUG
            false
        #else
            true
        #endif
    }
}
