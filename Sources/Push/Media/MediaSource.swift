/// Where media comes from. Used by all shards at once.
package protocol MediaSource: AnyObject, Sendable {
    /// What is behind the URL where that can be said without waiting; nil where `media` has to be asked.
    func known(at url: String, for context: StageContext) throws(MediaFailure) -> Media?

    /// Gives what is behind the URL, once it is kept; without suspending where that is known. Listens to cancellation.
    /// Nil where nothing is fetched and nobody knows.
    func media(at url: String, for context: StageContext) async throws(MediaFailure) -> Media?
}

extension MediaSource {
    package func known(at url: String, for context: StageContext) throws(MediaFailure) -> Media? { nil }
}

/// The places in a payload that tell of media.
package struct MediaMembers: Sendable, Equatable {
    package var url: JSONPointer
    /// The type by its MIME name.
    package var type: JSONPointer?
    /// The number of bytes.
    package var size: JSONPointer?

    package init(url: JSONPointer) { self.url = url }
}
