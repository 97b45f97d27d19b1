import CPushmillCurl
import PushmillStages

/// A URL that may be fetched, as libcurl reads it: the client that connects must not
/// understand it otherwise than the code that checks.
struct WebAddress: Sendable {
    let text: String
    /// In lower case.
    let host: String
    /// The host and the port.
    let server: String
    let isSecure: Bool

    /// A transfer holds several copies of its URL, and memory is for many transfers. Signed ones can have more than half of
    /// it; many servers take no longer ones either.
    private static let longest = 8192

    /// Absolute, with a host of these and nobody's credentials.
    init(_ text: String, _ settings: MediaSettings) throws(MediaFailure) {
        guard text.utf8.count <= Self.longest, let handle = curl_url() else { throw .malformedURL }
        defer { curl_url_cleanup(handle) }
        // A C string would end there.
        guard !text.utf8.contains(0),
            curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_DISALLOW_USER)) == CURLUE_OK,
            // The server does not see it.
            curl_url_set(handle, CURLUPART_FRAGMENT, nil, 0) == CURLUE_OK,
            let scheme = Self.part(CURLUPART_SCHEME, of: handle), let host = Self.part(CURLUPART_HOST, of: handle),
            let port = Self.part(CURLUPART_PORT, of: handle, UInt32(CURLU_DEFAULT_PORT)),
            let whole = Self.part(CURLUPART_URL, of: handle), whole.utf8.count <= Self.longest,
            // As name servers are asked for it: what other letters become, or what is escaped twice, could be another host,
            // or end it.
            host.utf8.allSatisfy({ $0 < 0x80 && $0 != UInt8(ascii: "%") })
        else { throw .malformedURL }
        isSecure = scheme == "https"
        guard isSecure || settings.allowsHTTP && scheme == "http" else { throw .malformedURL }
        let name = host.lowercased()
        let number = Int(port) ?? 0
        let isUsual = number == (isSecure ? 443 : 80)
        guard settings.hosts.contains(where: { $0.admits(name, port: number, isUsual: isUsual) }) else {
            throw .forbiddenHost
        }
        self.host = name
        server = "\(name):\(port)"
        self.text = whole
    }

    private static func part(_ part: CURLUPart, of handle: OpaquePointer, _ flags: UInt32 = 0) -> String? {
        var found: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &found, flags) == CURLUE_OK, let found else { return nil }
        defer { curl_free(found) }
        return String(cString: found)
    }
}
