/// Gives any bytes to a reader of outside input, which must not trap, and states what must hold for the result.
protocol FuzzTarget: AnyObject {
    /// The names of the targets that this type serves; each has a folder of that name under `Seeds`.
    static var names: [String] { get }

    init(_ name: String) throws

    /// Throws if a promise does not hold; a reader may refuse bytes without breaking one.
    func run(_ bytes: [UInt8]) throws
}

/// A promise about a reader that does not hold.
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

    /// Nil if there is no such target.
    static func make(_ name: String) throws -> (any FuzzTarget)? {
        try all.first { $0.names.contains(name) }?.init(name)
    }
}
