import PushmillStages

/// What every transfer uses.
struct Means: Sendable {
    let settings: MediaSettings
    let reach: Reach
    /// Nil where nothing is kept.
    let folder: MediaFolder?
    let log: @Sendable (StageResources.Severity, String) -> Void

    /// The disk's problems are somebody's to mend.
    func failure(_ problem: Download.Problem) -> MediaFailure {
        switch problem {
        case .refused(let failure): return failure
        case .unwritable(let failure):
            log(.error, "media cannot be kept: \(failure)")
            return .storage
        }
    }
}
