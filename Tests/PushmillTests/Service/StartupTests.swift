import Glibc
import Testing

@testable import Pushmill

@Suite("Start")
struct StartupTests {
    private var limit: rlimit {
        get throws {
            var limit = rlimit()
            try #require(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            return limit
        }
    }

    @Test("A service may open as many files and connections as the system lets it")
    func descriptors() throws {
        var lower = try limit
        lower.rlim_cur = lower.rlim_max - 1
        try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &lower) == 0)
        Startup.raiseDescriptorLimit()
        #expect(try limit.rlim_cur == lower.rlim_max)
    }
}
