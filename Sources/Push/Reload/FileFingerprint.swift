import Glibc

/// What tells a changed file from an unchanged one without reading it. A folder's covers all that is in it.
struct FileFingerprint: Equatable, Sendable {
    private var entries: [Entry] = []

    private struct Entry: Equatable, Sendable {
        let name: String
        let inode: UInt64
        let size: Int64
        let modified: Int64
        let modifiedNanoseconds: Int64
    }

    /// Follows links, so that a mounted secret that is swapped by its link is seen to change. What is missing or
    /// unreadable has a fingerprint too: it changes when the file comes back.
    init(of path: String) { add(path, name: "", depth: 0) }

    private mutating func add(_ path: String, name: String, depth: Int) {
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        entries.append(
            Entry(
                name: name, inode: UInt64(status.st_ino), size: Int64(status.st_size),
                modified: Int64(status.st_mtim.tv_sec), modifiedNanoseconds: Int64(status.st_mtim.tv_nsec)))
        // Links can lead in circles; no catalog is that deep.
        guard status.st_mode & S_IFMT == S_IFDIR, depth < 8 else { return }
        for child in Self.children(of: path) {
            add("\(path)/\(child)", name: name.isEmpty ? child : "\(name)/\(child)", depth: depth + 1)
        }
    }

    private static func children(of path: String) -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}
