/// A reader of outside input that is given any bytes: beside not trapping, it says what must hold of what it has read.
protocol FuzzTarget: AnyObject {
    /// The names of the targets that it serves; each has a folder of that name under `Seeds`.
    static var names: [String] { get }

    init(_ name: String) throws

    /// Throws where something does not hold; bytes that are refused are an ordinary end.
    func run(_ bytes: [UInt8]) throws
}

/// What was promised of a reader, and is not so.
struct BrokenPromise: Error, CustomStringConvertible {
    let description: String
}

func promise(_ holds: Bool, _ what: @autoclosure () -> String) throws(BrokenPromise) {
    guard holds else { throw BrokenPromise(description: what()) }
}

enum FuzzTargets {
    private static var all: [any FuzzTarget.Type] {
        [
            PayloadTarget.self, CiphertextTarget.self, SealingTarget.self, KeySetTarget.self, CatalogTarget.self,
            EnvelopeTarget.self, ContactTarget.self, ConfigurationTarget.self, OffsetTarget.self, RequestTarget.self,
            StatisticsTarget.self, URLTarget.self, MediaTarget.self, ChangelogTarget.self, CaptureTarget.self,
        ]
    }

    static var names: [String] { all.flatMap { $0.names } }

    /// Nil where there is no such target.
    static func make(_ name: String) throws -> (any FuzzTarget)? {
        try all.first { $0.names.contains(name) }?.init(name)
    }
}
