import CPushmillMicrohttpd
import Glibc

/// The open connections and what each is at. A whole request, head and body, has to come within a time, however steadily
/// its bytes drip; and where there are as many connections as there may be, a new one takes the place of that which has
/// kept its own for longest. So a client that sends its request at once, such as a probe, is always answered.
struct Connections {
    private enum Phase {
        /// Its request, or its next one, is not complete.
        case asking
        case answered
        /// Of which there are only so many, each for as long as the client stays.
        case streaming
    }

    private struct Entry {
        var phase = Phase.asking
        /// When that began.
        var since: Int64
        var isShut = false
    }

    private let limits: AdminLimits
    private var entries: [OpaquePointer: Entry] = [:]

    init(_ limits: AdminLimits) { self.limits = limits }

    mutating func opened(_ connection: OpaquePointer, _ now: Int64) {
        entries[connection] = Entry(since: now)
        let open = entries.filter { !$0.value.isShut }
        guard open.count > Int(limits.connections) else { return }
        let held = open.filter { $0.value.phase != .streaming && $0.key != connection }
        guard let oldest = held.min(by: { $0.value.since < $1.value.since }) else { return }
        shut(oldest.key)
    }

    mutating func closed(_ connection: OpaquePointer) { entries[connection] = nil }

    /// An answer begins: the request is complete, or refused.
    mutating func answering(_ connection: OpaquePointer, isStream: Bool, _ now: Int64) {
        entries[connection]?.phase = isStream ? .streaming : .answered
        entries[connection]?.since = now
    }

    /// The answer has been sent: another request may come.
    mutating func ended(_ connection: OpaquePointer, _ now: Int64) {
        entries[connection]?.phase = .asking
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
    private struct Range {
        let type: Substring
        let subtype: Substring
        let version: Substring?
        let quality: Double

        /// How closely the range names the type; nil if it does not cover it.
        func specificity(for offer: Range) -> Int? {
            if type == "*" && subtype == "*" { return 0 }
            guard type == offer.type else { return nil }
            if subtype == "*" { return 1 }
            guard subtype == offer.subtype else { return nil }
            guard let version else { return 2 }
            return version == offer.version ? 3 : nil
        }
    }

    private let ranges: [Range]

    /// No header accepts everything, and so does one without a range that can be read.
    init(_ header: String?) {
        ranges = (header ?? "").lowercased().split(separator: ",").compactMap(Self.range)
    }

    /// The index of the offer with the highest quality, the first among equals; nil if none is acceptable.
    func preferred(of offers: [String]) -> Int? {
        guard !ranges.isEmpty else { return offers.isEmpty ? nil : 0 }
        var best: (index: Int, quality: Double)?
        for (index, offer) in offers.enumerated() {
            guard let offer = Self.range(offer[...]) else { continue }
            // The most specific range decides.
            let closest = ranges.compactMap { range in
                range.specificity(for: offer).map { (specificity: $0, quality: range.quality) }
            }.max { $0.specificity < $1.specificity }
            guard let quality = closest?.quality, quality > (best?.quality ?? 0) else { continue }
            best = (index, quality)
        }
        return best?.index
    }

    /// `type/subtype; version=1; q=0.5`; parameters other than these two do not matter here.
    private static func range(_ text: Substring) -> Range? {
        let parts = text.split(separator: ";").map { $0.trimmed }
        guard let names = parts.first?.split(separator: "/"), names.count == 2 else { return nil }
        var version: Substring?
        var quality = 1.0
        for parameter in parts.dropFirst() {
            let pair = parameter.split(separator: "=", maxSplits: 1).map { $0.trimmed }
            guard pair.count == 2 else { continue }
            switch pair[0] {
            case "q": quality = Double(pair[1]).map { $0.isFinite ? min(max($0, 0), 1) : 0 } ?? 0
            case "version": version = pair[1]
            default: break
            }
        }
        return Range(type: names[0], subtype: names[1], version: version, quality: quality)
    }
}

extension Substring {
    /// Without blanks at either end.
    fileprivate var trimmed: Substring {
        let start = drop { $0 == " " || $0 == "\t" }
        guard let last = start.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
        return start[...last]
    }
}
