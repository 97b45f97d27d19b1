import CPushmillCurl
import Glibc
import PushmillStages

/// One request and its response. Belongs to the transfers' thread.
///
/// Nothing goes out that was not put here: no proxy, cookie, credential or `Accept-Encoding` of anybody's environment.
/// Redirects are not followed here: `Transfer` looks at them first.
final class Exchange {
    enum Progress {
        /// The server's address is not known yet.
        case begun
        /// Nor does libcurl remember it, and this one may not ask.
        case needsAddress
        case hasAddress
        /// There was a connection already.
        case hasConnection
    }

    let handle: UnsafeMutableRawPointer
    /// Has this exchange for as long as anything is to come of it.
    let owner: Transfer
    let server: String
    fileprivate(set) var progress = Progress.begun
    var hasServer: Bool { progress == .hasAddress || progress == .hasConnection }
    fileprivate var mayAsk = false
    /// Whether one of the addresses that the host's name led to may be connected to; nil before there is any.
    fileprivate var isAdmitted: Bool?
    /// None of them may.
    var isForbidden: Bool { isAdmitted == false }
    /// In a row, at which nothing new had come. libcurl's own limit of speed would look at each transfer once a second.
    var quietLooks = 0
    /// Bytes of headers, and of trailers behind the body: libcurl keeps all of them, and bounds the former alone.
    fileprivate var headerCount = 0
    /// As libcurl has it for headers.
    fileprivate static let mostHeaders = 300 << 10
    /// The part that was asked for begins there.
    let start: Int
    fileprivate let admits: @Sendable (UnsafeRawBufferPointer) -> Bool
    private let headers: UnsafeMutablePointer<curl_slist>?
    private let names: UnsafeMutablePointer<curl_slist>?

    /// `start` and `validator` ask for the rest of what has begun to come, if it is the same still.
    init?(_ address: WebAddress, of owner: Transfer, from start: Int, ifStill validator: String?, _ reach: Reach) {
        guard let handle = curl_easy_init() else { return nil }
        self.handle = handle
        self.owner = owner
        server = address.server
        self.start = start
        admits = reach.admits
        headers = validator.flatMap { curl_slist_append(nil, "If-Range: \($0)") }
        names = reach.names.reduce(nil) { curl_slist_append($0, $1) }
        for (option, value) in Self.numbers { curl_set_number(handle, option, value) }
        let version = address.isSecure ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1
        curl_set_number(handle, CURLOPT_HTTP_VERSION, version)
        curl_set_text(handle, CURLOPT_URL, address.text)
        curl_set_text(handle, CURLOPT_PROTOCOLS_STR, "https,http")
        curl_set_text(handle, CURLOPT_PROXY, "")
        curl_set_text(handle, CURLOPT_USERAGENT, "pushmill")
        if start > 0 { curl_set_text(handle, CURLOPT_RANGE, "\(start)-") }
        if let headers { curl_set_list(handle, CURLOPT_HTTPHEADER, headers) }
        if let names { curl_set_list(handle, CURLOPT_RESOLVE, names) }
        if let authorities = reach.authorities { curl_set_text(handle, CURLOPT_CAINFO, authorities) }
        curl_set_callbacks(
            handle, takeBytes, takeHeader, askForAddress, openSocket, sendRequest,
            Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(headers)
        curl_slist_free_all(names)
    }

    private static let numbers: [(CURLoption, Int)] = [
        (CURLOPT_NOSIGNAL, 1), (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue)),
        (CURLOPT_DISALLOW_USERNAME_IN_URL, 1), (CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2),
        (CURLOPT_CONNECTTIMEOUT_MS, 10_000), (CURLOPT_TCP_KEEPALIVE, 1), (CURLOPT_BUFFERSIZE, 8192),
        // A name server that does not answer keeps a thread of libcurl's, and not this one.
        (CURLOPT_QUICK_EXIT, 1),
    ]

    /// The exchange that libcurl has been given as its callbacks' context.
    static func of(_ context: UnsafeMutableRawPointer?) -> Exchange? {
        context.map { Unmanaged.fromOpaque($0).takeUnretainedValue() }
    }

    /// Lets it begin again that ended because it needs an address: it may ask for one now, or another has found it.
    func renew(mayAsk: Bool) {
        self.mayAsk = mayAsk
        progress = .begun
    }

    // MARK: - The response

    var status: Int { curl_status(handle) }

    /// Where it redirects to, as an absolute URL.
    var redirect: String? { curl_redirect(handle).map { String(cString: $0) } }

    /// How long the whole is, as it is announced.
    var announced: Int? {
        let length = Int(curl_amount(handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T))
        guard length >= 0 else { return nil }
        let (whole, overflow) = length.addingReportingOverflow(status == 206 ? start : 0)
        return overflow ? .max : whole
    }

    /// Seconds that the server wants to be left alone.
    var retryAfter: Int { Int(curl_amount(handle, CURLINFO_RETRY_AFTER)) }

    /// What tells this version of the body from others; nil if nothing does for certain.
    var validator: String? {
        if let tag = header("ETag") { return tag.hasPrefix("\"") ? tag : nil }
        return header("Last-Modified")
    }

    /// Nil for the whole.
    var range: ContentRange? { status == 206 ? header("Content-Range").flatMap(ContentRange.init) : nil }

    /// Whether it begins where it was asked to. A server need not give all that was asked for.
    var isContinuation: Bool { start > 0 && range?.first == start }

    /// One without a value is none: libcurl would leave out an `If-Range` that was made of it, and the part that is
    /// asked for would come whatever has changed.
    private func header(_ name: String) -> String? {
        var found: UnsafeMutablePointer<curl_header>?
        guard curl_easy_header(handle, name, 0, UInt32(CURLH_HEADER), -1, &found) == CURLHE_OK, let found,
            let value = found.pointee.value.map({ String(cString: $0) })
        else { return nil }
        return value.allSatisfy(\.isWhitespace) ? nil : value
    }
}

/// Called by libcurl with a piece of the body; another number than was given ends the transfer.
private func takeBytes(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let exchange = Exchange.of(context) else { return 0 }
    exchange.quietLooks = 0
    let bytes = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return exchange.owner.receive(bytes, in: exchange) ? bytes.count : 0
}

/// Called by libcurl with each line of headers, and of trailers; another number than was given ends the transfer.
private func takeHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let exchange = Exchange.of(context) else { return 0 }
    exchange.headerCount += size * count
    return exchange.headerCount <= Exchange.mostHeaders ? size * count : 0
}

/// Called by libcurl before it asks for the address that a name leads to; another number than 0 ends the transfer.
private func askForAddress(
    _ state: UnsafeMutableRawPointer?, _ reserved: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let exchange = Exchange.of(context) else { return 1 }
    if !exchange.mayAsk { exchange.progress = .needsAddress }
    return exchange.mayAsk ? 0 : 1
}

/// Called by libcurl before it connects to an address that a name led to, for each one it tries.
private func openSocket(
    _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let exchange = Exchange.of(context), let address else { return -1 }
    let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0
    let bytes = UnsafeRawBufferPointer(
        start: UnsafeRawPointer(address) + offset, count: Int(address.pointee.addrlen))
    exchange.progress = .hasAddress
    // Each address gets its time.
    exchange.quietLooks = 0
    let isOpen = exchange.admits(bytes)
    exchange.isAdmitted = isOpen || exchange.isAdmitted == true
    guard isOpen else { return -1 }
    let kind = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
    return socket(address.pointee.family, kind, address.pointee.`protocol`)
}

/// Called by libcurl when there is a connection and the request is about to go out.
private func sendRequest(
    _ context: UnsafeMutableRawPointer?, _ address: UnsafeMutablePointer<CChar>?,
    _ ownAddress: UnsafeMutablePointer<CChar>?, _ port: Int32, _ ownPort: Int32
) -> Int32 {
    guard let exchange = Exchange.of(context) else { return CURL_PREREQFUNC_ABORT }
    if exchange.progress == .begun { exchange.progress = .hasConnection }
    return CURL_PREREQFUNC_OK
}
