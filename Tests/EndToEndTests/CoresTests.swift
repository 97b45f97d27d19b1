import Glibc
import PushmillKafka
import PushmillTestSupport
import Testing

extension EndToEnd {
    /// The service runs in a control group of its own, as in a container.
    @Suite("Cores of a container", .enabled(if: QuotaGroup.mayMake, "there is no control group to be made here"))
    struct CoresTests {
        @Test("The service runs as many shards, with their librdkafka clients, as the quota has cores")
        func quota() async throws {
            let group = try QuotaGroup(cores: 1)
            let brokers = try Brokers()
            for topic in ["in", "out", "dead"] { try brokers.createTopic(topic, partitions: 4) }
            let folder = try TemporaryFolder()
            let text = ServiceConfiguration().text(
                bootstrapServers: brokers.bootstrapServers, group: "g", input: "in", output: "out", deadLetters: "dead")
            let file = try folder.write(text, to: "service.yaml")
            let program = "'\(ServiceProcess.folder)/PushmillEndToEndService' run --config '\(file)'"
            let command = "echo $$ > '\(group.members)' && exec \(program)"
            let service = try ServiceProcess(
                ["-c", command], executable: "/bin/sh", environment: ["PUSHMILL_DELIVERY_CORES=auto"])
            try await service.wait(forLine: "serving partitions")
            // A thread that a shard starts inherits the shard's name.
            let shards = Self.threads(of: service.identifier).filter { $0.hasPrefix("shard ") }
            expect(Set(shards), is: ["shard 0"])
            // Each librdkafka client has one main thread: here, the shard's consumer and producer, and the one that asks.
            expect(Self.threads(of: service.identifier).count { $0 == "rdk:main" }, is: 3)
            service.send(SIGTERM)
            try await service.expectEnd(.exited(0))
            try await service.clear()
        }

        private static func threads(of process: pid_t) -> [String] {
            guard let folder = opendir("/proc/\(process)/task") else { return [] }
            defer { closedir(folder) }
            var names: [String] = []
            while let entry = readdir(folder) {
                let thread = withUnsafeBytes(of: &entry.pointee.d_name) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
                guard let file = fopen("/proc/\(process)/task/\(thread)/comm", "r") else { continue }
                defer { fclose(file) }
                var name = [CChar](repeating: 0, count: 32)
                guard fgets(&name, Int32(name.count), file) != nil else { continue }
                names.append(String(decoding: name.prefix { $0 > 31 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
            }
            return names
        }
    }
}

/// A control group, version 1 or 2, with a CPU quota. Removed with the value, if no process is left in it.
private final class QuotaGroup {
    private static let folder = "/pushmill-test-\(UInt64.random(in: 0 ... .max))"
    private let path: String

    var members: String { "\(path)/cgroup.procs" }

    static var mayMake: Bool { sysconf(Int32(_SC_NPROCESSORS_ONLN)) > 1 && (try? QuotaGroup(cores: 1)) != nil }

    init(cores: Int) throws {
        let isFirst = access("/sys/fs/cgroup/cpu/cgroup.procs", F_OK) == 0
        path = "/sys/fs/cgroup\(isFirst ? "/cpu" : "")\(Self.folder)"
        guard mkdir(path, 0o755) == 0 else { throw SystemFailure(errno) }
        let quota = isFirst ? ("cpu.cfs_quota_us", "\(cores * 100_000)") : ("cpu.max", "\(cores * 100_000) 100000")
        guard let file = fopen("\(path)/\(quota.0)", "w") else { throw SystemFailure(errno) }
        fputs(quota.1, file)
        guard fclose(file) == 0 else { throw SystemFailure(errno) }
    }

    deinit { rmdir(path) }
}
