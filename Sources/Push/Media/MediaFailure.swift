/// Why there is no media. Its word is the stage's `failed:reason`.
package enum MediaFailure: Error, CaseIterable {
    case malformedURL, forbiddenHost, forbiddenAddress, unreachable, certificate, status, redirects, broken, tooLarge
    case unsupportedType, storage
    /// The message has left without it.
    case abandoned

    package var reason: StaticString {
        switch self {
        case .malformedURL: "url"
        case .forbiddenHost: "host"
        case .forbiddenAddress: "address"
        case .unreachable: "unreachable"
        case .certificate: "certificate"
        case .status: "status"
        case .redirects: "redirects"
        case .broken: "broken"
        case .tooLarge: "too-large"
        case .unsupportedType: "type"
        case .storage: "storage"
        case .abandoned: "abandoned"
        }
    }
}
