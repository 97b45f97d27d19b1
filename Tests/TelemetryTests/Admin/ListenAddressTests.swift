import PushmillTelemetry
import PushmillTestSupport
import Testing

@Suite struct ListenAddressTests {
    @Test(
        "A listen address is read, written, and known as loopback or not",
        arguments: [
            ("127.0.0.1:9464", "127.0.0.1:9464", true), ("[::1]:0", "[::1]:0", true),
            ("localhost:80", "127.0.0.1:80", true), (":9464", "0.0.0.0:9464", false),
            ("0.0.0.0:65535", "0.0.0.0:65535", false), ("[::]:9464", "[::]:9464", false),
            ("10.1.2.3:1", "10.1.2.3:1", false), ("127.8.9.1:1", "127.8.9.1:1", true),
        ])
    func valid(_ text: String, _ expected: String, _ isLoopback: Bool) throws {
        let address = try ListenAddress(text)
        expect("\(address)", is: expected)
        expect(address.isLoopback, is: isLoopback)
    }

    @Test(
        "A text that is not a listen address is refused and quoted",
        arguments: [
            "", ":", "9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:x",
            "::1:9464", "[127.0.0.1]:1", "[]:1", "[::1]", "[::g]:1", "256.0.0.1:1", "example.com:80", "1.2.3:4",
        ])
    func invalid(_ text: String) {
        #expect(throws: TelemetryError.invalidListenAddress(text)) { try ListenAddress(text) }
    }
}
