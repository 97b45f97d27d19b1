/// Which media is fetched, and where and how long it is kept.
package struct MediaSettings: Sendable, Equatable {
    package var members: MediaMembers
    /// Files of it are named by `Media.name`; others in it are left alone.
    package var folder: String
    package var hosts: [HostPattern]
    package var allowsHTTP = false
    /// Since its last use.
    package var age = Duration.seconds(168 * 3600)
    /// In bytes, of all of it together.
    package var capacity = 10_000_000_000

    package init(_ members: MediaMembers, folder: String, hosts: [HostPattern]) {
        self.members = members
        self.folder = folder
        self.hosts = hosts
    }
}
