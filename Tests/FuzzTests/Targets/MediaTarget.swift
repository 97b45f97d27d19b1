import PushmillStages
import PushmillTestSupport

@testable import PushmillMedia

/// The media type depends on the first bytes only, in whatever pieces they arrive.
final class MediaTarget: FuzzTarget {
    static let names = ["media"]

    init(_ name: String) {}

    func run(_ bytes: [UInt8]) throws {
        let whole = try download([bytes])
        var choices = SeededGenerator(seed: bytes.reduce(1) { $0 &* 31 &+ UInt64($1) })
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Int.random(in: 0...min(rest.count, 20), using: &choices)
            pieces.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        try promise(try download(pieces) == whole, "other media in \(pieces.count) pieces")
        try promise(whole?.type == MediaType(firstBytes: Array(bytes.prefix(MediaType.headLength))), "of another type")
        try promise(whole.map { $0.size == bytes.count } ?? true, "of another size")
        try promise(whole.map { Media(name: $0.name) != nil } ?? true, "kept under a name that is not found again")
    }

    private func download(_ pieces: [[UInt8]]) throws -> Media? {
        let download = try Download(into: nil)
        do {
            for piece in pieces { try piece.withUnsafeBytes { try download.add($0, announced: nil) } }
            return try download.finish().media
        } catch MediaFailure.unsupportedType {
            return nil
        }
    }
}
