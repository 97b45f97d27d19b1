import CPushmillCurl
import Glibc
import PushmillStages

/// One request and its response. Belongs to the transfers' thread.
///
/// Sends only what is set here: no proxy, cookie, credential or `Accept-Encoding` of the environment. Does not follow
/// redirects: `Transfer` checks them first.
final class Exchange {
    enum Progress {
        /// The server's address is not known yet.
        case begun
        /// The address is not in libcurl's cache, and this exchange may not ask for it.
        case needsAddress
        case hasAddress
        /// There was a connection already.
        case hasConnection
    }

    let handle: UnsafeMutableRawPointer
    /// Its `exchange` is this one until the exchange is canceled or has ended.
    let owner: Transfer
    let server: String
    fileprivate(set) var progress = Progress.begun
    var hasServer: Bool { progress == .hasAddress || progress == .hasConnection }
    fileprivate var mayAsk = false
    /// It counts among those of its server that have a connection.
    var hasShare = false
    /// Whether one of the host's addresses may be connected to; nil before one was tried.
    fileprivate var isAdmitted: Bool?
    /// None of the host's addresses may be connected to.
    var isForbidden: Bool { isAdmitted == false }
    /// Looks in a row that found nothing new. libcurl's own speed limit would check each transfer once a second.
    var quietLooks = 0
    /// Bytes and lines of headers, and of trailers after the body. libcurl keeps all of them, each line in memory of its
    /// own, and the time for lines that continue another grows with the square of their number.
    fileprivate var headerBytes = 0
    fileprivate var headerLines = 0
    fileprivate static let mostHeaderBytes = 32 << 10
    fileprivate static let mostHeaderLines = 256
    /// Where the part that was asked for begins.
    let start: Int
    fileprivate let admits: @Sendable (UnsafeRawBufferPointer) -> Bool
    private let headers: UnsafeMutablePointer<curl_slist>?
    private let names: UnsafeMutablePointer<curl_slist>?

    /// `start` and `validator` ask for the rest of a download, if the media is still the same.
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
        // A name server that does not answer holds up a thread of libcurl, but not this one.
        (CURLOPT_QUICK_EXIT, 1),
    ]

    /// The exchange that libcurl has been given as its callbacks' context.
    static func of(_ context: UnsafeMutableRawPointer?) -> Exchange? {
        context.map { Unmanaged.fromOpaque($0).takeUnretainedValue() }
    }

    /// Lets an exchange begin again that ended for lack of an address: it may ask for one, or another has found it.
    func renew(mayAsk: Bool) {
        self.mayAsk = mayAsk
        progress = .begun
    }

    // MARK: - The response

    var status: Int { curl_status(handle) }

    /// The target of a redirect, as an absolute URL.
    var redirect: String? { curl_redirect(handle).map { String(cString: $0) } }

    /// The announced length of the whole.
    var announced: Int? {
        let length = Int(curl_amount(handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T))
        guard length >= 0 else { return nil }
        let (whole, overflow) = length.addingReportingOverflow(status == 206 ? start : 0)
        return overflow ? .max : whole
    }

    /// Seconds that the server asks clients to wait.
    var retryAfter: Int { Int(curl_amount(handle, CURLINFO_RETRY_AFTER)) }

    /// What distinguishes this version of the body from others; nil if nothing does reliably.
    var validator: String? {
        if let tag = header("ETag") { return tag.hasPrefix("\"") ? tag : nil }
        return header("Last-Modified")
    }

    /// Nil if the body is the whole.
    var range: ContentRange? { status == 206 ? header("Content-Range").flatMap(ContentRange.init) : nil }

    /// Whether the body begins where it was asked to. A server need not send all that was asked for.
    var isContinuation: Bool { start > 0 && range?.first == start }

    /// Nil also for a header without a value: libcurl would omit an `If-Range` made of it, and the server would send
    /// the part even if the media has changed.
    private func header(_ name: String) -> String? {
        var found: UnsafeMutablePointer<curl_header>?
        guard curl_easy_header(handle, name, 0, UInt32(CURLH_HEADER), -1, &found) == CURLHE_OK, let found,
            let value = found.pointee.value.map({ String(cString: $0) })
        else { return nil }
        return value.allSatisfy(\.isWhitespace) ? nil : value
    }
}

/// Called by libcurl with a piece of the body; a result other than its size ends the transfer.
private func takeBytes(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let exchange = Exchange.of(context) else { return 0 }
    exchange.quietLooks = 0
    let bytes = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return exchange.owner.receive(bytes, in: exchange) ? bytes.count : 0
}

/// Called by libcurl with each line of headers and of trailers; a result other than its size ends the transfer.
private func takeHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let exchange = Exchange.of(context) else { return 0 }
    exchange.headerBytes += size * count
    exchange.headerLines += 1
    guard exchange.headerBytes <= Exchange.mostHeaderBytes, exchange.headerLines <= Exchange.mostHeaderLines else {
        exchange.owner.refuse(.broken)
        return 0
    }
    return size * count
}

/// Called by libcurl before it resolves a name; a result other than 0 ends the transfer.
private func askForAddress(
    _ state: UnsafeMutableRawPointer?, _ reserved: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let exchange = Exchange.of(context) else { return 1 }
    if !exchange.mayAsk { exchange.progress = .needsAddress }
    return exchange.mayAsk ? 0 : 1
}

/// Called by libcurl before it connects, for each address of the host that it tries.
private func openSocket(
    _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let exchange = Exchange.of(context), let address else { return -1 }
    let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0
    let bytes = UnsafeRawBufferPointer(
        start: UnsafeRawPointer(address) + offset, count: Int(address.pointee.addrlen))
    exchange.progress = .hasAddress
    // Each address gets its own time.
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
