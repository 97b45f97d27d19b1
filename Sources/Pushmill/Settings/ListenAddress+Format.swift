import PushmillStages
import PushmillTelemetry

extension SettingFormat where Value == ListenAddress {
    static var listenAddress: Self {
        Self(
            parse: { text throws(SettingMismatch) in
                do throws(TelemetryError) {
                    return try ListenAddress(text)
                } catch {
                    throw SettingMismatch(expected: "a numeric address and a port such as 127.0.0.1:9464")
                }
            }, render: \.description)
    }
}
