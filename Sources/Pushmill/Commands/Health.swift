import Glibc
import PushmillTelemetry

extension Command {
    static let health = Command(
        name: "health", summary: "Checks whether a running service is alive",
        details: """
            For health checks of containers. Prints the service's answer and exits with 0 if
            it is alive, else with 1. The address is --address, else PUSHMILL_ADMIN_LISTEN,
            else the one in --config if it can be read, else 127.0.0.1:9464.
            """,
        options: [.address, .ownConfig, .ready]
    ) { invocation in
        let address = try invocation.adminAddress()
        do throws(TelemetryError) {
            let (status, body) = try ProbeRequest(address).get(invocation.flag(.ready) ? "/readyz" : "/healthz")
            invocation.console.output(body)
            return status == 200 ? .success : .different
        } catch {
            invocation.console.error("\(error)")
            return .different
        }
    }
}

extension Invocation {
    fileprivate func adminAddress() throws(ProgramError) -> ListenAddress {
        let variable = surroundings.environment["PUSHMILL_ADMIN_LISTEN"].flatMap { $0.isEmpty ? nil : $0 }
        let text = text(.address) ?? variable
        if text == nil, let path = self.text(.ownConfig) {
            do throws(ProgramError) {
                return try configuration(path).admin.listen
            } catch {
                // The file may have been edited for the next start; the running service has read an earlier version.
                console.error("cannot read the address from \(path): using the default")
            }
        }
        return try explaining(as: ProgramError.usage) { try ListenAddress(text ?? "127.0.0.1:9464") }
    }
}

extension Option {
    fileprivate static let ownConfig = Option.value("config", "FILE", "the service's configuration")
    fileprivate static let address = Option.value("address", "HOST:PORT", "the address of the admin endpoint")
    fileprivate static let ready = Option.flag("ready", "checks whether it is ready, not only alive")
}
