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
        case .asking: entry.since + limits.requestNanoseconds
        case .answered: entry.since + limits.answerNanoseconds
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
    /// `type/subtype; version=1; q=0.5`; other parameters do not matter here.
    private struct Range {
        let name: Substring
        let version: Substring?
        let quality: Double

        init?(_ text: Substring) {
            let parts = text.split(separator: ";")
            guard let name = parts.first, name.split(separator: "/").count == 2 else { return nil }
            func parameter(_ name: String) -> Substring? {
                parts.dropFirst().first { $0.hasPrefix(name) }?.dropFirst(name.count)
            }
            self.name = name
            version = parameter("version=")
            quality = parameter("q=").map { Double($0).map { $0.isFinite ? $0 : 0 } ?? 0 } ?? 1
        }
    }

    /// What is behind it is not read: it would keep the thread that answers probes, and no client has as much to say.
    private static let longest = 1_024

    private let ranges: [Range]

    /// No header accepts everything, and so does one without a range that can be read.
    init(_ header: String?) { ranges = Self.ranges(String((header ?? "").prefix(Self.longest))) }

    /// A parameter's value may stand in quotes.
    private static func ranges(_ text: String) -> [Range] {
        text.lowercased().filter { !" \t\"".contains($0) }.split(separator: ",").compactMap(Range.init)
    }

    /// The index of the offer with the highest quality, the first among equals; nil if none is acceptable.
    func preferred(of offers: [String]) -> Int? {
        guard !ranges.isEmpty else { return offers.isEmpty ? nil : 0 }
        let qualities = offers.map { Self.ranges($0).first.map(quality) ?? 0 }
        return qualities.max().flatMap { $0 > 0 ? qualities.firstIndex(of: $0) : nil }
    }

    /// The range decides that names the offer most closely.
    private func quality(of offer: Range) -> Double {
        let type = offer.name.prefix { $0 != "/" }
        let names: [(Substring, Substring?)] = [
            (offer.name, offer.version), (offer.name, nil), ("\(type)/*", nil), ("*/*", nil),
        ]
        let closest = names.lazy.compactMap { name, version in
            ranges.first { $0.name == name && $0.version == version }
        }.first
        return closest?.quality ?? 0
    }
}
