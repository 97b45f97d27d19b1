package import Push

/// Recorded input, in its order. For one caller at a time.
package protocol RecordSource: AnyObject {
    /// How messages call it.
    var name: String { get }

    /// The next records, at most `limit`; none at the end.
    func next(_ limit: Int) async throws(ReplayError) -> [RecordEnvelope]
}
