import CPushmillMicrohttpd
import Glibc

/// The open connections and the phase of each. A whole request, head and body, must arrive within a time limit, even if
/// its bytes keep trickling in. At the connection limit a new connection displaces the one that has been in its phase
/// for longest, except streams. So a client that sends its request at once, such as a probe, is always answered.
struct Connections {
    enum Phase {
        /// The request, or the next one on this connection, is incomplete.
        case asking
        /// The request is complete or was refused; its answer is being sent.
        case answered
        /// Lasts as long as the client stays; `AdminLimits.streams` bounds their number.
        case streaming
    }

    private struct Entry {
        var phase = Phase.asking
        var since: Int64
        var isShut = false
    }

    private let limits: AdminLimits
    private var entries: [OpaquePointer: Entry] = [:]

    init(_ limits: AdminLimits) { self.limits = limits }

    var isEmpty: Bool { entries.isEmpty }

    mutating func opened(_ connection: OpaquePointer, _ now: Int64) {
        entries[connection] = Entry(since: now)
        let open = entries.filter { !$0.value.isShut }
        guard open.count > Int(limits.connections) else { return }
        let held = open.filter { $0.value.phase != .streaming && $0.key != connection }
        guard let oldest = held.min(by: { $0.value.since < $1.value.since }) else { return }
        shut(oldest.key)
    }

    mutating func closed(_ connection: OpaquePointer) { entries[connection] = nil }

    mutating func begin(_ phase: Phase, of connection: OpaquePointer, _ now: Int64) {
        entries[connection]?.phase = phase
        entries[connection]?.since = now
    }

    /// The earliest deadline of all connections; nil if none has one.
    var nextEnd: Int64? { entries.values.compactMap(end(of:)).min() }

    mutating func shutOverdue(_ now: Int64) {
        for (connection, entry) in entries where end(of: entry) ?? .max <= now { shut(connection) }
    }

    private func end(of entry: Entry) -> Int64? {
        guard !entry.isShut else { return nil }
        return switch entry.phase {
        case .asking: entry.since + Int64(limits.request / .nanoseconds(1))
        case .answered: entry.since + Int64(limits.answer / .nanoseconds(1))
        case .streaming: nil
        }
    }

    /// libmicrohttpd sees the end of the stream and closes the connection.
    private mutating func shut(_ connection: OpaquePointer) {
        entries[connection]?.isShut = true
        let descriptor = mhd_connection_descriptor(connection)
        if descriptor >= 0 { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
}

/// The media ranges of an `Accept` header.
struct Accept {
    /// Only so much of a header is read: more would block the thread that answers probes, and no client needs it.
    private static let longest = 1_024

    /// By `type/subtype` or `type/subtype;version=1`; other parameters are ignored.
    private let qualities: [String: Double]

    /// A missing header accepts everything, as does one without a readable range.
    init(_ header: String?) {
        let ranges = Self.plain((header ?? "").prefix(Self.longest)).split(separator: ",")
        let qualities = ranges.compactMap { range -> (String, Double)? in
            let parts = range.split(separator: ";")
            guard let name = parts.first, name.split(separator: "/").count == 2 else { return nil }
            let version = parts.dropFirst().first { $0.hasPrefix("version=") }
            let quality = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
            return (version.map { "\(name);\($0)" } ?? String(name), quality.isFinite ? quality : 0)
        }
        // The first of equal ranges counts.
        self.qualities = Dictionary(qualities) { first, _ in first }
    }

    /// Drops quotes too: a parameter's value may be quoted.
    private static func plain(_ text: some StringProtocol) -> String {
        text.lowercased().filter { !" \t\"".contains($0) }
    }

    /// The index of the offer with the highest quality, the first among equals; nil if none is acceptable. An offer is
    /// `type/subtype; version=1; charset=utf-8`.
    func preferred(of offers: [String]) -> Int? {
        guard !qualities.isEmpty else { return offers.isEmpty ? nil : 0 }
        let found = offers.map(quality)
        return found.max().flatMap { $0 > 0 ? found.firstIndex(of: $0) : nil }
    }

    /// The most specific matching range decides.
    private func quality(of offer: String) -> Double {
        let parts = Self.plain(offer).split(separator: ";").prefix(2)
        let name = parts.first ?? ""
        let names = [parts.joined(separator: ";"), String(name), "\(name.prefix { $0 != "/" })/*", "*/*"]
        return names.lazy.compactMap { qualities[$0] }.first ?? 0
    }
}
