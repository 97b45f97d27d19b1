import PushmillStages
package import PushmillTelemetry

/// The admin endpoint.
package struct AdminSettings: Sendable {
    package let listen: ListenAddress
    /// The file that holds the bearer token.
    package let tokenFile: String?

    init(from settings: inout SettingReader) {
        listen = settings.value("listen", .listenAddress, default: ListenAddress(host: "127.0.0.1", port: 9464))
        tokenFile = settings.optional("token-file", .file)
        if !listen.isLoopback, tokenFile == nil {
            settings.report("listen", "\(listen) is open to other machines: token-file is required")
        }
    }
}
