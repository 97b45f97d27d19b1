package import PushmillStages

/// Recorded input, in its order. For one caller at a time.
package protocol RecordSource: AnyObject {
    /// How messages call it.
    var name: String { get }

    /// The next records, at most `limit`; none at the end.
    func next(_ limit: Int) async throws(ReplayError) -> [RecordEnvelope]

    /// Says what is wrong with one of the records that `next` gave last, and where it stands.
    func failure(at index: Int, _ what: String) -> ReplayError
}
