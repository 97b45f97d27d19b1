/// A name as it may stand in somebody else's text.
public enum ContactName {
    /// Without control characters, and without what would turn the direction of the text around it. White space of any
    /// kind becomes a space. Empty for a name of which nothing is left to see.
    public static func clean(_ name: RawSpan) -> [UInt8] {
        let cleaned = name.withUnsafeBytes { name in
            // Printable ASCII is as it should be.
            name.allSatisfy { (0x20..<0x7F).contains($0) } ? Array(name) : clean(String(decoding: name, as: UTF8.self))
        }
        return cleaned.allSatisfy { $0 == UInt8(ascii: " ") } ? [] : cleaned
    }

    private static func clean(_ name: String) -> [UInt8] {
        var cleaned: [UInt8] = []
        for scalar in name.unicodeScalars {
            if let scalar = shown(scalar), let encoded = UTF8.encode(scalar) { cleaned.append(contentsOf: encoded) }
        }
        return cleaned
    }

    private static func shown(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
        switch scalar.value {
        case 0x09...0x0D, 0x85, 0x2028, 0x2029: " "
        case 0x00...0x1F, 0x7F...0x9F: nil
        // Embeddings and overrides; isolates.
        case 0x202A...0x202E, 0x2066...0x2069: nil
        default: scalar
        }
    }
}
