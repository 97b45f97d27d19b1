import Glibc

extension CheckpointFile {
    /// Whose counts and positions a file holds.
    package struct Owner: Sendable, Equatable {
        package let cluster: String
        package let group: String

        package init(cluster: String, group: String) {
            self.cluster = cluster
            self.group = group
        }
    }

    /// Makes the file this owner's. Where it was another's its counts and positions are set aside; the path of that
    /// copy is returned, for an error in the log.
    package mutating func claim(for owner: Owner) throws(StoreError) -> String? {
        let found = try self.owner()
        if found == owner { return nil }
        let copy = found == nil ? nil : try self.copy()
        try database.transaction { () throws(StoreError) in
            if copy != nil { try clear() }
            try put(owner)
        }
        return copy
    }

    /// Leaves a copy of the file beside it and begins with no counts and no positions; contacts stay. Accounts in
    /// memory must be forgotten with it.
    package mutating func setAside() throws(StoreError) -> String {
        let copy = try copy()
        try database.transaction { () throws(StoreError) in try clear() }
        return copy
    }

    private func owner() throws(StoreError) -> Owner? {
        let query = try database.prepare("SELECT cluster, consumer_group FROM owner")
        return try query.step() ? Owner(cluster: query.text(0), group: query.text(1)) : nil
    }

    private func put(_ owner: Owner) throws(StoreError) {
        let put = try database.prepare("INSERT OR REPLACE INTO owner VALUES(1, ?, ?)")
        try put.bind(1, owner.cluster)
        try put.bind(2, owner.group)
        try put.run()
    }

    private func clear() throws(StoreError) {
        try database.execute("DELETE FROM badge_journal; DELETE FROM badge; DELETE FROM position")
    }

    /// The path of a copy of the whole file, under a name that was free.
    private func copy() throws(StoreError) -> String {
        var number = 1
        while access("\(database.path).aside-\(number)", F_OK) == 0 { number += 1 }
        let path = "\(database.path).aside-\(number)"
        let copying = try database.prepare("VACUUM INTO ?")
        try copying.bind(1, path)
        try copying.run()
        return path
    }
}
