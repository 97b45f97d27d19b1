/// Something in force that came from a file or folder and can be read again while it is used.
package protocol Reloadable: AnyObject, Sendable {
    var path: String { get }

    /// Reads again if there is a cause to. Called by one thread at a time, which it may block.
    func reload(_ cause: ReloadCause) -> ReloadOutcome
}

package enum ReloadCause: Sendable {
    /// A look at the file, once in a while: only a change that has come to rest is read.
    case poll
    /// Somebody asked, such as by SIGHUP.
    case request
}

package enum ReloadOutcome: Sendable, Equatable {
    case unchanged
    case reloaded
    /// The old one stays in force; says why.
    case failed(String)
}
