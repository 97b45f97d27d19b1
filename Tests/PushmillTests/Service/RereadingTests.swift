import PushmillTelemetry
import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("What SIGHUP finds changed")
struct RereadingTests {
    private let folder: TemporaryFolder
    private let log = Log(level: .info)

    init() throws { folder = try TemporaryFolder() }

    private func configuration(_ yaml: String) throws -> Configuration { try #require(Reading(yaml).configuration) }

    /// What another reading logs of this configuration.
    private func told(_ rereading: Rereading, _ configuration: Configuration) -> [String] {
        var cursor = log.ring.end
        _ = rereading.apply(to: log) { configuration }
        return log.ring.read(from: &cursor).lines.map { String(decoding: $0.json, as: UTF8.self) }
    }

    @Test("The file of a secret whose content has changed is named, without what it says")
    func secretFile() throws {
        let path = try folder.write("former", to: "password")
        let ca = try folder.write("a certificate", to: "ca.pem")
        let configuration = try configuration(
            "kafka: { bootstrap.servers: 'a:1', sasl.password-file: \(path), ssl.ca.location: \(ca) }")
        let rereading = Rereading(configuration)
        expect(told(rereading, configuration), is: [])
        _ = try folder.write("another", to: "password")
        let lines = told(rereading, configuration)
        #expect(lines.count == 1 && lines[0].contains("kafka.sasl.password-file") && !lines[0].contains("another"))
    }
}
