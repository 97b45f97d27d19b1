import PushmillStages
import PushmillTelemetry

/// The secrets of examples, which everybody knows, are good for trying things on one machine.
enum SampleSecrets {
    /// Those of the manifests and of the composition.
    static let tokens = ["replace-me", "only-for-this-machine"]

    /// Whether a service has to have secrets of its own: where others can reach it, or its brokers are elsewhere.
    static func areRefused(_ configuration: Configuration) -> Bool {
        guard !configuration.process.allowsSamples else { return false }
        let servers =
            configuration.kafka.properties(for: .consumer).last { $0.name == "bootstrap.servers" }?.value ?? ""
        return !configuration.admin.listen.isLoopback || !configuration.kafka.isEmbedded && !isLocal(servers)
    }

    private static func isLocal(_ servers: String) -> Bool {
        servers.split(separator: ",").allSatisfy { server in
            let parts = server.filter { $0 != " " }.split(separator: "/")
            guard let host = parts.last?.lowercased() else { return false }
            // A name may begin like an address.
            let place = (try? ListenAddress(host)) ?? (try? ListenAddress(host + ":9092"))
            return place?.isLoopback ?? false
        }
    }
}
