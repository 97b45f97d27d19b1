import CPushmillProcess
import Glibc
package import PushmillEngine
import PushmillStages
package import PushmillStores
package import PushmillTelemetry

/// The delivery guarantee and its limits.
package struct DeliverySettings: Sendable {
    package enum Guarantee: String, CaseIterable, Sendable {
        case atLeastOnce = "at-least-once"
        case exactlyOnce = "exactly-once"
    }

    /// What happens to a notification that expired before its turn.
    package enum Expired: String, CaseIterable, Sendable { case publish, drop }

    package let guarantee: Guarantee
    package let deadline: Duration
    package let expired: Expired
    /// For all shards together.
    package let shard: ShardSettings
    /// Nil for as many as this process may use.
    package let cores: Int?

    init(from settings: inout SettingReader) {
        guarantee = settings.value("guarantee", .choice(Guarantee.self), default: .atLeastOnce)
        var shard = ShardSettings()
        shard.isTransactional = guarantee == .exactlyOnce
        shard.ordering = settings.value("ordering", .choice(ShardSettings.Ordering.self), default: shard.ordering)
        deadline = settings.value("deadline", .duration(.milliseconds(1) ... .seconds(3600)), default: .seconds(30))
        expired = settings.value("expired", .choice(Expired.self), default: .publish)
        shard.maxInFlight = settings.value("max-in-flight", .integer(1...10_000_000), default: shard.maxInFlight)
        shard.maxInFlightBytes = settings.value(
            "max-in-flight-bytes", .byteSize(1 << 20...64 << 30), default: shard.maxInFlightBytes)
        shard.checkpointInterval = settings.value(
            "checkpoint-interval", .duration(.milliseconds(1) ... .seconds(60)),
            default: shard.isTransactional ? .milliseconds(100) : shard.checkpointInterval)
        shard.drain = settings.value("drain", .duration(.zero ... .seconds(300)), default: shard.drain)
        shard.shutdownGrace = settings.value(
            "shutdown-grace", .duration(.zero ... .seconds(3600)), default: shard.shutdownGrace)
        self.shard = shard
        cores = settings.value("cores", .cores, default: nil)
        settings.renamed("lanes", to: "cores")
    }
}

extension SettingFormat where Value == Int? {
    fileprivate static var cores: Self {
        Self(
            expected: "auto, or an integer from 1 to 256",
            { text in
                if text == "auto" { return .some(nil) }
                guard let count = Int(text), (1...256).contains(count) else { return nil }
                return count
            }, render: { $0.map { String($0) } ?? "auto" })
    }
}

package struct TopicSettings: Sendable {
    package let input: [String]
    package let output: String
    package let deadLetter: String
    package let badgeChangelog: String

    init(from settings: inout SettingReader) {
        input = settings.list("input", .topic, default: ["push.events"])
        if input.isEmpty, settings.problems.isEmpty { settings.report("input", "must name a topic") }
        output = settings.value("output", .topic, default: "push.notifications")
        deadLetter = settings.value("dead-letter", .topic, default: "push.dead-letters")
        badgeChangelog = settings.value("badge-changelog", .topic, default: "push.badges")
        for (index, name) in input.enumerated() where input[..<index].contains(name) {
            settings.report("input", "names \(name) twice")
        }
    }
}

/// The folder for contacts, which survive a restart, and for the copies of the badge changelog.
package struct StateSettings: Sendable {
    package let path: String

    init(from settings: inout SettingReader) {
        let path = settings.value("path", .file, default: "/var/lib/pushmill/state")
        let end = path.lastIndex { $0 != "/" }
        self.path = end.map { String(path[...$0]) } ?? path
    }

    /// The file of an earlier release is kept: it is at the path itself or, by default, beside the folder. Any other
    /// file in the folder's place is left alone, and the folder cannot be made.
    package var file: String {
        for file in [path, "\(path).sqlite"] where file.hasSuffix(".sqlite") || StateFile.isState(file) {
            var status = stat()
            if stat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG { return file }
        }
        return path.hasSuffix(".sqlite") ? path : "\(path)/state.sqlite"
    }

    /// The folder of counts, beside the file.
    package var counts: String {
        guard let slash = file.lastIndex(of: "/") else { return "counts" }
        return "\(file[...slash])counts"
    }

    /// The journal of redrives, beside the file, or where an earlier release has left it.
    package var journal: String {
        ["\(path).redriven", "\(path).sqlite.redriven"].first { access($0, F_OK) == 0 } ?? "\(file).redriven"
    }

    /// Needed before anything that may create the file.
    package func makeFolder() throws(StoreError) {
        guard file == "\(path)/state.sqlite", mkdir(path, 0o700) != 0 else { return }
        guard errno == EEXIST else { throw .unopened(path: path, error: errno) }
        var status = stat()
        guard stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFDIR else {
            throw .unopened(path: path, error: ENOTDIR)
        }
    }

    /// Opens the file for use beside other processes. Only a command that fills it may create it.
    func open(creating: Bool) throws -> StateFile {
        if creating { try makeFolder() }
        guard creating || access(file, F_OK) == 0 else { throw ContactsUnavailable("no state at \(path)") }
        return try StateFile(path: file, access: .shared)
    }
}

package struct AdminSettings: Sendable {
    package let listen: ListenAddress
    package let tokenFile: String?

    init(from settings: inout SettingReader) {
        listen = settings.value("listen", .listenAddress, default: ListenAddress(host: "127.0.0.1", port: 9464))
        tokenFile = settings.optional("token-file", .file)
        if !listen.isLoopback, tokenFile == nil {
            settings.report("listen", "\(listen) is reachable from other machines: token-file is required")
        }
    }
}

extension SettingFormat where Value == ListenAddress {
    static var listenAddress: Self {
        Self(expected: "a numeric address and a port such as 127.0.0.1:9464") { try? ListenAddress($0) }
    }
}

package struct LogSettings: Sendable {
    package let level: LogLevel
    package let format: LogFormat

    init(from settings: inout SettingReader) {
        level = settings.value("level", .choice(LogLevel.allCases, name: \.name), default: .info)
        format = settings.value("format", .choice(LogFormat.self), default: .auto)
    }
}

package struct ProcessSettings: Sendable {
    /// Lets core files and debuggers see keys and texts.
    package let dumpsCore: Bool
    /// Accepts the secrets of examples even if others can reach the service.
    package let allowsSamples: Bool

    init(from settings: inout SettingReader) {
        dumpsCore = settings.value("core-dumps", .bool, default: false)
        allowsSamples = settings.value("sample-secrets", .bool, default: false)
    }

    /// The program hides its memory from its start; this shows it again if `dumpsCore` is set.
    func apply() {
        if dumpsCore { _ = pushmill_show_memory(1) }
    }
}
