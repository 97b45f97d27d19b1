import Glibc

/// The cores that this process may use, and the number of threads that compute. With more threads than the quota of its
/// control group, the kernel would halt all of them for the rest of each tenth of a second.
package struct Processors: Sendable {
    /// For this process, determined once.
    package static let usable = Processors(read: text).count

    package let count: Int

    /// `read` returns the contents of a file.
    package init(read: (String) -> String?) {
        let cores = Self.allowed(read) ?? sysconf(Int32(_SC_NPROCESSORS_ONLN))
        count = max(1, min(cores, Self.quota(read) ?? cores))
    }

    /// The cores of the smallest quota between the process's group and the root. A container sees its own group as the
    /// root, or under a path that it does not see.
    private static func quota(_ read: (String) -> String?) -> Int? {
        let lines = (read("/proc/self/cgroup") ?? "").split(separator: "\n").map {
            $0.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        }
        var quotas: [Int] = []
        for line in lines where line.count == 3 {
            let controllers = line[1].split(separator: ",")
            guard line[1].isEmpty || controllers.contains("cpu") else { continue }
            // Version 2 has one hierarchy and names no controllers.
            let mounts = line[1].isEmpty ? ["", "/unified"] : ["/cpu", "/\(line[1])"]
            var path = line[2].split(separator: "/")
            while true {
                for mount in mounts {
                    let folder = "/sys/fs/cgroup\(mount)\(path.map { "/\($0)" }.joined())"
                    if let cores = cores(in: folder, ofSecond: line[1].isEmpty, read) { quotas.append(cores) }
                }
                if path.popLast() == nil { break }
            }
        }
        return quotas.min()
    }

    /// Rounded up. `max 100000` and -1 are no quotas.
    private static func cores(in folder: String, ofSecond isSecond: Bool, _ read: (String) -> String?) -> Int? {
        let files = isSecond ? ["cpu.max"] : ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
        let words = files.flatMap { (read("\(folder)/\($0)") ?? "").split(whereSeparator: \.isWhitespace) }
        guard words.count == 2, let quota = Int(words[0]), let period = Int(words[1]), quota > 0, period > 0 else {
            return nil
        }
        return (quota - 1) / period + 1
    }

    /// The cores that the process is bound to, which may be fewer than are online: `0-3,7`.
    private static func allowed(_ read: (String) -> String?) -> Int? {
        let lines = (read("/proc/self/status") ?? "").split(separator: "\n")
        guard let line = lines.first(where: { $0.hasPrefix("Cpus_allowed_list:") }) else { return nil }
        let ranges = line.split(whereSeparator: \.isWhitespace).dropFirst().joined().split(separator: ",")
        return ranges.reduce(0) { count, range in
            let ends = range.split(separator: "-").compactMap { Int($0) }
            guard let first = ends.first, let last = ends.last, first <= last else { return count }
            return count + last - first + 1
        }
    }

    private static func text(_ path: String) -> String? {
        (try? FileBytes(path: path, limit: 64 << 10)).map { String(decoding: $0.bytes, as: UTF8.self) }
    }
}
