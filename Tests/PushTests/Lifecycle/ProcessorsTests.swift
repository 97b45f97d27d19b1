import Glibc
import PushmillTestSupport
import Testing

@testable import PushmillPayload

/// There are as many computing threads as cores that the process may use.
@Suite("Usable cores")
struct ProcessorsTests {
    private static let eight = "Name:\tpushmill\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\n"

    @Test(
        "The number of usable cores is the control group's quota, rounded up, in either version",
        arguments: [
            (["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "200000 100000\n"], 2),
            (["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "150000 100000\n"], 2),
            (["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "50000 100000\n"], 1),
            (["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "1600000 100000\n"], 8),
            (["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "max 100000\n"], 8),
            (["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "nonsense"], 8),
            (["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "0 100000\n"], 8),
            (["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "200000 0\n"], 8),
            // A systemd service whose slice has a smaller quota.
            (
                [
                    "/proc/self/cgroup": "0::/system.slice/pushmill.service\n",
                    "/sys/fs/cgroup/system.slice/pushmill.service/cpu.max": "400000 100000\n",
                    "/sys/fs/cgroup/system.slice/cpu.max": "300000 100000\n",
                ], 3
            ),
            // A container that is given the host's path and sees its own group as the root.
            (
                [
                    "/proc/self/cgroup": "0::/kubepods/pod1/abc\n", "/sys/fs/cgroup/cpu.max": "200000 100000\n",
                ], 2
            ),
            (
                [
                    "/proc/self/cgroup": "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/\n",
                    "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "250000\n",
                    "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
                ], 3
            ),
            (
                [
                    "/proc/self/cgroup": "3:cpuset:/\n4:cpu,cpuacct:/pods/a\n",
                    "/sys/fs/cgroup/cpu/pods/a/cpu.cfs_quota_us": "100000\n",
                    "/sys/fs/cgroup/cpu/pods/a/cpu.cfs_period_us": "50000\n",
                    "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                    "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
                ], 2
            ),
            // If both versions are mounted, version 2 has no controllers.
            (
                [
                    "/proc/self/cgroup": "4:cpu:/\n0::/\n", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "500000\n",
                    "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
                ], 5
            ),
        ] as [([String: String], Int)])
    func quota(files: [String: String], count: Int) {
        expect(Processors(read: { $0 == "/proc/self/status" ? Self.eight : files[$0] }).count, is: count)
    }

    @Test(
        "Without a quota, the usable cores are those that the process is bound to",
        arguments: [("0-7", 8), ("0", 1), ("0-3,7", 5), ("2,4,6", 3), ("3-3", 1), ("5-2,1", 1), ("", 1)])
    func bound(list: String, count: Int) {
        expect(
            Processors(read: { $0 == "/proc/self/status" ? "Cpus_allowed_list:\t\(list)\n" : nil }).count, is: count)
    }

    @Test("If the system tells nothing, all online cores are usable")
    func unknown() { expect(Processors(read: { _ in nil }).count, is: sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
}
