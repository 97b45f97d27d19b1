import Glibc

/// What the process may have open.
enum Descriptors {
    /// Of connections, and of files: each of them a third, and the rest of the process another one.
    static var share: Int { limit / 3 }

    private static var limit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        return Int(clamping: min(limit.rlim_cur, 1 << 20))
    }
}
