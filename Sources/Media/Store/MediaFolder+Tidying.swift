import Glibc
import PushmillStages

extension MediaFolder {
    /// A file as it was at some time.
    struct Entry: Equatable {
        let name: String
        let size: Int
        /// In seconds since 1970, and the rest of the last one.
        let used: Int
        let nanoseconds: Int

        /// Nil where there is none.
        fileprivate init?(_ name: String, in folder: String) {
            var status = stat()
            guard lstat("\(folder)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            self.name = name
            size = Int(status.st_size)
            used = status.st_mtim.tv_sec
            nanoseconds = status.st_mtim.tv_nsec
        }
    }

    /// A file that was begun so long ago was left behind by a process that died.
    private static let patience = 2 * 3600

    /// Removes what was not used for so long, then what was not used for the longest until the rest is small enough, files
    /// that are still coming in included.
    /// Gives the names that are gone. Other files are left alone; several processes may do this to one folder.
    func tidy(age: Duration, capacity: Int, now: Int = time(nil)) -> Set<String> {
        var gone: Set<String> = []
        var kept: [Entry] = []
        var total = 0
        var partial = 0
        for entry in entries() {
            if entry.name.hasPrefix(PartialFile.prefix) {
                if now - entry.used > Self.patience {
                    unlink("\(path)/\(entry.name)")
                } else {
                    partial += entry.size
                }
            } else if .seconds(now - entry.used) > age {
                if remove(entry) { gone.insert(entry.name) }
            } else {
                kept.append(entry)
                total += entry.size
            }
        }
        if total + partial > capacity {
            for entry in kept.sorted(by: { $0.used < $1.used }) where total + partial > capacity {
                guard remove(entry) else { continue }
                gone.insert(entry.name)
                total -= entry.size
            }
        }
        room.counted(total)
        return gone
    }

    /// Whether it is gone now. What has been used or kept anew since it was looked at stays.
    func remove(_ entry: Entry) -> Bool {
        guard let current = Entry(entry.name, in: path) else { return true }
        return current == entry && (unlink("\(path)/\(entry.name)") == 0 || errno == ENOENT)
    }

    func entries() -> [Entry] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var entries: [Entry] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard Media(name: name) != nil || name.hasPrefix(PartialFile.prefix) else { continue }
            if let entry = Entry(name, in: path) { entries.append(entry) }
        }
        return entries
    }
}
