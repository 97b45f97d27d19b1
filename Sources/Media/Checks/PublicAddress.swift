import CPushmillCurl
import Glibc
import PushmillStages

/// Which addresses URLs may lead to. Addresses outside the public internet belong to private networks: this machine,
/// its neighbors, or a cloud's metadata service.
enum PublicAddress {
    /// For a socket address; false if it is neither IPv4 nor IPv6.
    static func contains(_ address: UnsafeRawBufferPointer) -> Bool {
        guard address.count >= MemoryLayout<sa_family_t>.size else { return false }
        switch Int32(address.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET where address.count >= MemoryLayout<sockaddr_in>.size:
            return contains(UInt32(bigEndian: address.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr))
        case AF_INET6 where address.count >= MemoryLayout<sockaddr_in6>.size:
            var bytes = address.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            return withUnsafeBytes(of: &bytes) { bytes in
                contains(
                    UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                    UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
            }
        default: return false
        }
    }

    private static func contains(_ address: UInt32) -> Bool {
        !closed.contains { address >> (32 - $0.bits) == $0.prefix >> (32 - $0.bits) }
    }

    private static func contains(_ high: UInt64, _ low: UInt64) -> Bool {
        let lastFour = UInt32(truncatingIfNeeded: low)
        // IPv4 in another form: mapped, or through a translator.
        if high == 0, low >> 32 == 0xFFFF { return contains(lastFour) }
        if high == 0x0064_FF9B_0000_0000, low >> 32 == 0 { return contains(lastFour) }
        // Nothing outside 2000::/3 is public.
        guard high >> 61 == 1 else { return false }
        return !closedSix.contains { high >> (64 - $0.bits) == $0.prefix >> (64 - $0.bits) }
    }

    /// By RFC 6890 and its successors.
    private static let closed: [(prefix: UInt32, bits: UInt32)] = [
        (0x0000_0000, 8),  // this network
        (0x0A00_0000, 8),  // private
        (0x6440_0000, 10),  // carrier-grade NAT
        (0x7F00_0000, 8),  // loopback
        (0xA9FE_0000, 16),  // link-local, with most clouds' metadata
        (0xAC10_0000, 12),  // private
        (0xC000_0000, 24),  // protocol assignments
        (0xC000_0200, 24),  // documentation
        (0xC058_6300, 24),  // 6to4 relays
        (0xC0A8_0000, 16),  // private
        (0xC612_0000, 15),  // benchmarks
        (0xC633_6400, 24),  // documentation
        (0xCB00_7100, 24),  // documentation
        (0xA83F_8110, 32),  // Azure's metadata
        (0xE000_0000, 4),  // multicast
        (0xF000_0000, 4),  // reserved, broadcast
    ]

    private static let closedSix: [(prefix: UInt64, bits: UInt64)] = [
        (0x2001_0000_0000_0000, 23),  // protocol assignments, Teredo
        (0x2001_0DB8_0000_0000, 32),  // documentation
        (0x2002_0000_0000_0000, 16),  // 6to4, whatever it leads to
        (0x3FFF_0000_0000_0000, 20),  // documentation
    ]
}

/// A URL that may be fetched, as libcurl reads it: the client that connects must not understand it differently than the
/// code that checks it.
struct WebAddress: Sendable {
    let text: String
    /// In lower case.
    let host: String
    /// The host and the port.
    let server: String
    let isSecure: Bool

    /// Bytes of a URL. A transfer holds several copies, and memory must suffice for many transfers. Signed URLs can
    /// need more than half of this; many servers accept no longer ones either.
    private static let longest = 8192

    /// Absolute, with a host that `settings` allow and without credentials.
    init(_ text: String, _ settings: MediaSettings) throws(MediaFailure) {
        guard text.utf8.count <= Self.longest, let handle = curl_url() else { throw .malformedURL }
        defer { curl_url_cleanup(handle) }
        // A C string would end at a zero byte.
        guard !text.utf8.contains(0),
            curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_DISALLOW_USER)) == CURLUE_OK,
            // The server does not see the fragment.
            curl_url_set(handle, CURLUPART_FRAGMENT, nil, 0) == CURLUE_OK,
            let scheme = Self.part(CURLUPART_SCHEME, of: handle), let host = Self.part(CURLUPART_HOST, of: handle),
            let port = Self.part(CURLUPART_PORT, of: handle, UInt32(CURLU_DEFAULT_PORT)),
            let whole = Self.part(CURLUPART_URL, of: handle), whole.utf8.count <= Self.longest,
            // In the form that name servers are asked for: other letters, or a second escape, could turn into another
            // host, or end it.
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
