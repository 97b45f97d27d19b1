import Glibc
import PushmillKafka
import PushmillStores
import PushmillTelemetry
import PushmillTestSupport
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

    // (trust 9)
    @Test(
        "A full disk is worth another start, a path that leads nowhere is not",
        arguments: [
            (ENOSPC, ExitCode.internalFailure), (EIO, .internalFailure), (EROFS, .internalFailure),
            (ENOENT, .configuration),
        ])
    func disk(error: Int32, code: ExitCode) {
        expect(Service.unusable(.unopened(path: "/state", error: error)).exitCode, is: code)
    }

    // (trust 9)
    @Test(
        "A port that somebody has, and a process at its limits, are worth another start, an address of nobody is not",
        arguments: [
            (TelemetryError.addressInUse("a"), ExitCode.internalFailure), (.noThread(EAGAIN), .internalFailure),
            (.noPipe(EMFILE), .internalFailure), (.cannotListen("a", EMFILE), .internalFailure),
            (.cannotListen("a", EADDRNOTAVAIL), .configuration), (.cannotListen("a", EACCES), .configuration),
        ])
    func endpoint(error: TelemetryError, code: ExitCode) {
        let address = ListenAddress(host: "127.0.0.1", port: 1)
        expect(AdminPages.unusable(error, at: address).exitCode, is: code)
    }

    @Test("Only what may be wrong with TLS alone is waited for")
    func refused() {
        let error = KafkaError("no")
        let login = [("security.protocol", "sasl_ssl"), ("sasl.mechanisms", "PLAIN")]
        expect(Startup.refusal(error, of: "producer", ClientProperties(login)).exitCode, is: .configuration)
        expect(Startup.refusal(error, of: "consumer", ClientProperties(login)).exitCode, is: .configuration)
        let user = login + [("sasl.username", "a"), ("sasl.password", "b"), ("ssl.ca.location", "/none")]
        guard case .outside(let reason) = Startup.refusal(error, of: "producer", ClientProperties(user)) else {
            Issue.record("it does not wait")
            return
        }
        expect(reason.reason, is: "tls")
    }

    @Test("Brokers whose answers take long are not taken for none", .ownThread)
    func distant() throws {
        let cluster = try MockCluster()
        // It takes two of them, and more with a login.
        cluster.setRoundTrip(milliseconds: 800)
        try withExtendedLifetime(cluster) {
            try Startup.reach(ClientProperties([("bootstrap.servers", cluster.bootstrapServers)]))
        }
    }

    @Test("A service may open as many files and connections as the system lets it")
    func descriptors() throws {
        var lower = try limit
        lower.rlim_cur = lower.rlim_max - 1
        try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &lower) == 0)
        Startup.raiseDescriptorLimit()
        try expect(limit.rlim_cur, is: lower.rlim_max)
    }
}
