import PushmillStages
import Synchronization

/// The badge counts of a lane's recipients before their first record, as the baseline lets them be known: what it shows
/// for the record, less what the record adds.
final class StartingCounts: Sendable {
    private let line = Mutex<[UInt8]?>(nil)

    /// The recorded output of the record that runs next, in the form of `BaselineLine`.
    func expect(_ line: [UInt8]?) { self.line.withLock { $0 = line } }

    var start: BadgeCounts.Start {
        { [self] record in
            guard let line = line.withLock({ $0 }), let output = try? RecordEnvelope(line: line),
                let shown = output.payload.flatMap({ $0.withUnsafeBytes(Self.badge) }),
                let added = record.value.flatMap(Self.badge), added > 0, shown >= added
            else { return 0 }
            return Int32(clamping: shown - added)
        }
    }

    /// Of a payload, or of a CloudEvent around one.
    private static func badge(_ json: UnsafeRawBufferPointer) -> Int? {
        var document = JSONDocument()
        guard (try? document.read(json)) != nil else { return nil }
        for place in [payload, event] {
            if let place, let node = document.node(at: place) { return document.integer(of: node) }
        }
        return nil
    }

    private static let payload = JSONPointer("/aps/badge")
    private static let event = JSONPointer("/data/aps/badge")
}
