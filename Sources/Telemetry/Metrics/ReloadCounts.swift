import Synchronization

/// How often files were reloaded. Separate from `ServiceMetrics`, because files are watched before it exists.
package final class ReloadCounts: Sendable {
    fileprivate struct Reloads {
        var succeeded = 0
        var failed = 0
        /// The last reload failed.
        var hasFailed = false
    }

    private let byPath = Mutex<[String: Reloads]>([:])

    package init() {}

    package func add(_ path: String, succeeded: Bool) {
        byPath.withLock { byPath in
            var reloads = byPath[path] ?? Reloads()
            if succeeded { reloads.succeeded += 1 } else { reloads.failed += 1 }
            reloads.hasFailed = !succeeded
            byPath[path] = reloads
        }
    }

    /// By file name without folder, sorted. Files of one name count as one: failed if one of them failed.
    fileprivate func byName(_ watched: [String]) -> [(name: String, reloads: Reloads)] {
        let byPath = byPath.withLock { $0 }
        let paths = Set(watched).union(byPath.keys)
        let byName = Dictionary(grouping: paths) { path in path.split(separator: "/").last.map { String($0) } ?? path }
        return byName.sorted { $0.key < $1.key }.map { name, paths in
            let all = paths.compactMap { byPath[$0] }
            let (succeeded, failed) = (all.reduce(0) { $0 + $1.succeeded }, all.reduce(0) { $0 + $1.failed })
            return (name, Reloads(succeeded: succeeded, failed: failed, hasFailed: all.contains(where: \.hasFailed)))
        }
    }
}

extension MetricRegistry {
    /// `watched` returns the paths of all files that are reloaded when they change; each has a series from the start.
    package func addReloads(_ reloads: ReloadCounts, of watched: @escaping @Sendable () -> [String]) {
        measure(.reloads) {
            reloads.byName(watched()).flatMap { name, reloads in
                [.init(Double(reloads.succeeded), name, "ok"), .init(Double(reloads.failed), name, "failed")]
            }
        }
        measure(.reloadSucceeded) { reloads.byName(watched()).map { .init($1.hasFailed ? 0 : 1, $0) } }
    }
}
