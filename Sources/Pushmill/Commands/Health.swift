import Glibc
import PushmillTelemetry

extension Command {
    static let health = Command(
        "health", "Asks a running service whether it is alive",
        details: """
            For health checks of containers. Exits with 0 if it is, else with 1, and prints
            what it says. The address is --address, else PUSHMILL_ADMIN_LISTEN, else
            127.0.0.1:9464.
            """,
        options: [.address, .ready]
    ) { invocation in
        let text =
            invocation.text(.address) ?? invocation.surroundings.environment["PUSHMILL_ADMIN_LISTEN"]
            ?? "127.0.0.1:9464"
        let address: ListenAddress
        do throws(TelemetryError) {
            address = try ListenAddress(text)
        } catch {
            throw ProgramError.usage("\(error)")
        }
        let console = invocation.surroundings.console
        do throws(TelemetryError) {
            let (status, body) = try ProbeRequest(address).get(invocation.flag(.ready) ? "/readyz" : "/healthz")
            console.output(body)
            return status == 200 ? .success : .different
        } catch {
            console.error("\(error)")
            return .different
        }
    }
}

extension Option {
    fileprivate static let address = Option.value("address", "HOST:PORT", "where the admin endpoint listens")
    fileprivate static let ready = Option.flag("ready", "asks whether it is ready, not only alive")
}
