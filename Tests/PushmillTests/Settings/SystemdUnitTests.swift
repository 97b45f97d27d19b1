import PushmillPayload
import PushmillTestSupport
import Testing

@testable import Pushmill

/// The unit that starts the service on machines without containers.
struct SystemdUnitTests {
    private let lines: [Substring]

    init() throws {
        let file = String(#filePath.split(separator: "/Tests/")[0]) + "/deploy/systemd/pushmill.service"
        lines = String(decoding: try FileBytes(path: file).bytes, as: UTF8.self).split(separator: "\n")
    }

    private func values(_ name: String) -> [Substring] {
        lines.filter { $0.hasPrefix("\(name)=") }.map { $0.dropFirst(name.utf8.count + 1) }
    }

    @Test("A dynamic user gets its secrets as credentials, which the configuration can name")
    func credentials() throws {
        expect(values("DynamicUser"), is: ["yes"])
        let names = values("LoadCredential").compactMap { $0.split(separator: ":").first }
        expect(names, is: ["keys.jwks.json", "admin-token"])
        for name in names {
            #expect(lines.contains { $0.contains("/run/credentials/pushmill.service/\(name)") }, "\(name)")
        }
    }

    @Test("The unit restarts the service after any number of quick exits")
    func restarts() {
        expect(values("Restart"), is: ["on-failure"])
        expect(values("StartLimitIntervalSec"), is: ["0"])
        expect(values("StartLimitBurst"), is: [])
    }

    @Test("A reload signal that comes too early leads to a restart")
    func reload() {
        expect(values("ExecReload"), is: ["/bin/kill -HUP $MAINPID"])
        expect(values("RestartForceExitStatus"), is: ["SIGHUP"])
    }
}
