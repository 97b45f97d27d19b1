import CPushmillMicrohttpd
import Glibc

/// The open connections and what each is at. A whole request, head and body, has to come within a time, however steadily
/// its bytes drip; and where there are as many connections as there may be, a new one takes the place of that which has
/// kept its own for longest. So a client that sends its request at once, such as a probe, is always answered.
struct Connections {
    enum Phase {
        /// Its request, or its next one, is not complete.
        case asking
        /// The request is complete, or refused: its answer is under way.
        case answered
        /// Of which there are only so many, each for as long as the client stays.
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

    /// When the next connection has used up its time; nil where none will.
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

    /// The library sees the end of it and lets go of the connection.
    private mutating func shut(_ connection: OpaquePointer) {
        entries[connection]?.isShut = true
        let descriptor = mhd_connection_descriptor(connection)
        if descriptor >= 0 { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
}

/// The media ranges of an `Accept` header.
struct Accept {
    /// What is behind it is not read: it would keep the thread that answers probes, and no client has as much to say.
    private static let longest = 1_024

    /// Of `type/subtype`, or `type/subtype;version=1`; other parameters do not matter here.
    private let qualities: [String: Double]

    /// No header accepts everything, and so does one without a range that can be read.
    init(_ header: String?) {
        let ranges = Self.plain((header ?? "").prefix(Self.longest)).split(separator: ",")
        let qualities = ranges.compactMap { range -> (String, Double)? in
            let parts = range.split(separator: ";")
            guard let name = parts.first, name.split(separator: "/").count == 2 else { return nil }
            let version = parts.dropFirst().first { $0.hasPrefix("version=") }
            let quality = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
            return (version.map { "\(name);\($0)" } ?? String(name), quality.isFinite ? quality : 0)
        }
        // Of equal ranges the first counts.
        self.qualities = Dictionary(qualities) { first, _ in first }
    }

    /// A parameter's value may stand in quotes.
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

    /// The range decides that names the offer most closely.
    private func quality(of offer: String) -> Double {
        let parts = Self.plain(offer).split(separator: ";").prefix(2)
        let name = parts.first ?? ""
        let names = [parts.joined(separator: ";"), String(name), "\(name.prefix { $0 != "/" })/*", "*/*"]
        return names.lazy.compactMap { qualities[$0] }.first ?? 0
    }
}
