import FoundationEssentials
import Glibc

/// The usual `process_*` families, read from `/proc` at each scrape.
struct ProcessMetrics {
    private let start = Self.startTime()

    func write(into exposition: inout Exposition) {
        exposition.begin(MetricDescription(.counter, "process_cpu_seconds_total", "User and system CPU time spent."))
        exposition.sample(labels: "", Double(nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID)) / 1e9)
        let pages = readFile("/proc/self/statm").split(separator: " ").prefix(2).compactMap { Int($0) }
        if pages.count == 2 {
            let page = sysconf(Int32(_SC_PAGESIZE))
            gauge("process_virtual_memory_bytes", "Virtual memory size.", pages[0] * page, &exposition)
            gauge("process_resident_memory_bytes", "Resident memory size.", pages[1] * page, &exposition)
        }
        if let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            // One of them is the descriptor of the folder itself.
            gauge("process_open_fds", "Number of open file descriptors.", open.count - 1, &exposition)
        }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            gauge(
                "process_max_fds", "Maximum number of open file descriptors.", Int(clamping: limit.rlim_cur),
                &exposition)
        }
        if let start {
            exposition.begin(
                MetricDescription(.gauge, "process_start_time_seconds", "Start time of the process since 1970."))
            exposition.sample(labels: "", start)
        }
    }

    private func gauge(_ name: String, _ help: String, _ value: Int, _ exposition: inout Exposition) {
        exposition.begin(MetricDescription(.gauge, name, help))
        exposition.sample(labels: "", value)
    }

    /// The start, in clock ticks since boot, is field 22 of `stat`, the 20th after the command's closing parenthesis.
    private static func startTime() -> Double? {
        let stat = readFile("/proc/self/stat")
        guard let command = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[command...].dropFirst(2).split(separator: " ")
        guard fields.count > 19, let ticks = Double(fields[19]),
            let boot = readFile("/proc/stat").split(separator: "\n").first(where: { $0.hasPrefix("btime ") }),
            let bootTime = Double(boot.dropFirst("btime ".count))
        else { return nil }
        return bootTime + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}

/// The whole of a small file of `/proc`; empty if it cannot be read.
private func readFile(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
