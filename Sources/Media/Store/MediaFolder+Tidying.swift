import Glibc
import Push

extension MediaFolder {
    private struct Entry {
        let name: String
        let size: Int
        /// In seconds since 1970.
        let used: Int
    }

    /// A file that was begun so long ago was left behind by a process that died.
    private static let patience = 2 * 3600

    /// Removes what was not used for so long, then what was not used for the longest until the rest is small enough.
    /// Gives the names that are gone. Other files are left alone; several processes may do this to one folder.
    func tidy(age: Duration, capacity: Int, now: Int = time(nil)) -> Set<String> {
        var gone: Set<String> = []
        var kept: [Entry] = []
        var total = 0
        for entry in entries() {
            if entry.name.hasPrefix(PartialFile.prefix) {
                if now - entry.used > Self.patience { unlink("\(path)/\(entry.name)") }
            } else if .seconds(now - entry.used) > age {
                remove(entry, &gone)
            } else {
                kept.append(entry)
                total += entry.size
            }
        }
        guard total > capacity else { return gone }
        for entry in kept.sorted(by: { $0.used < $1.used }) where total > capacity {
            remove(entry, &gone)
            total -= entry.size
        }
        return gone
    }

    private func remove(_ entry: Entry, _ gone: inout Set<String>) {
        if unlink("\(path)/\(entry.name)") == 0 || errno == ENOENT { gone.insert(entry.name) }
    }

    private func entries() -> [Entry] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var entries: [Entry] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard Media(name: name) != nil || name.hasPrefix(PartialFile.prefix) else { continue }
            var status = stat()
            guard lstat("\(path)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            entries.append(Entry(name: name, size: Int(status.st_size), used: status.st_mtim.tv_sec))
        }
        return entries
    }
}
