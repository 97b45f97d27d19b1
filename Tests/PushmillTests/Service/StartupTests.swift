import Glibc
import PushmillKafka
import PushmillStores
import PushmillTelemetry
import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("Startup")
struct StartupTests {
    private var limit: rlimit {
        get throws {
            var limit = rlimit()
            try #require(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            return limit
        }
    }

    @Test(
        "A full disk permits a restart, a missing path does not",
        arguments: [
            (ENOSPC, ExitCode.internalFailure), (EIO, .internalFailure), (EROFS, .internalFailure),
            (ENOENT, .configuration),
        ])
    func disk(error: Int32, code: ExitCode) {
        expect(Service.unusable(.unopened(path: "/state", error: error)).exitCode, is: code)
    }

    @Test(
        "A port in use or a resource limit permits a restart, a wrong address does not",
        arguments: [
            (TelemetryError.addressInUse("a"), ExitCode.internalFailure), (.noThread(EAGAIN), .internalFailure),
            (.noPipe(EMFILE), .internalFailure), (.cannotListen("a", EMFILE), .internalFailure),
            (.cannotListen("a", EADDRNOTAVAIL), .configuration), (.cannotListen("a", EACCES), .configuration),
        ])
    func endpoint(error: TelemetryError, code: ExitCode) {
        let address = ListenAddress(host: "127.0.0.1", port: 1)
        expect(AdminPages.unusable(error, at: address).exitCode, is: code)
    }

    @Test("The service waits only for an error that TLS alone can cause")
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

    @Test("Brokers that answer slowly count as reachable", .ownThread)
    func distant() throws {
        let cluster = try MockCluster()
        // Reaching a broker takes two round trips, and more with a login.
        cluster.setRoundTrip(milliseconds: 800)
        try withExtendedLifetime(cluster) {
            try Startup.reach(ClientProperties([("bootstrap.servers", cluster.bootstrapServers)]))
        }
    }

    @Test("A service raises its descriptor limit to the system's maximum")
    func descriptors() throws {
        var lower = try limit
        lower.rlim_cur = lower.rlim_max - 1
        try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &lower) == 0)
        Startup.raiseDescriptorLimit()
        try expect(limit.rlim_cur, is: lower.rlim_max)
    }
}
