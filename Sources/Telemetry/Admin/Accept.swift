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
