import PushmillStages
import PushmillTestSupport
import Testing

@testable import PushmillMedia

@Suite("URLs and types")
struct URLTests {
    private func failure(_ url: String, _ change: (inout MediaSettings) -> Void = { _ in }) -> MediaFailure? {
        var settings = MediaSettings.sample("/nonexistent")
        settings.hosts = ["cdn.example.com", "*.img.example", "*.img.example:8443"].compactMap(HostPattern.init)
        settings.allowsHTTP = false
        change(&settings)
        do throws(MediaFailure) {
            _ = try WebAddress(url, settings)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "Only https URLs of allowed hosts, without credentials, are accepted",
        arguments: [
            ("https://cdn.example.com/a.jpg", nil), ("https://CDN.example.COM:443/a?b#c", nil),
            ("https://cdn.example.com:8443/a", .forbiddenHost), ("https://a.img.example:8443/", nil),
            ("https://a.img.example:8444/", .forbiddenHost),
            ("https://a.img.example/", nil), ("https://a.b.img.example/", nil),
            ("http://cdn.example.com/a.jpg", .malformedURL), ("ftp://cdn.example.com/a.jpg", .malformedURL),
            ("file:///etc/passwd", .malformedURL), ("gopher://cdn.example.com/", .malformedURL),
            ("//cdn.example.com/a.jpg", .malformedURL), ("cdn.example.com/a.jpg", .malformedURL), ("", .malformedURL),
            ("https://", .malformedURL), ("https:///a", .forbiddenHost), ("https://cdn.example.com/a b", .malformedURL),
            ("https://cdn.example.com\u{0}.evil.example/", .malformedURL),
            ("https://cdn.example.com\r\nX: y/", .malformedURL), ("https://user@cdn.example.com/", .malformedURL),
            ("https://user:word@cdn.example.com/", .malformedURL), ("https://@cdn.example.com/", .malformedURL),
            ("https://cdn.example.com@evil.example/", .malformedURL),
            ("https://evil.example/?cdn.example.com", .forbiddenHost),
            ("https://evil.example#@cdn.example.com/", .forbiddenHost),
            ("https://evil.example\\@cdn.example.com/", .malformedURL),
            ("https://cdn.example.com.evil.example/", .forbiddenHost), ("https://img.example/", .forbiddenHost),
            ("https://eimg.example/", .forbiddenHost), ("https://cdn.example.com./", .forbiddenHost),
            ("https://%63dn.example.com/", nil), ("https://cdn%2eexample.com/", nil),
            ("https://%2541.img.example/", .malformedURL),
            ("https://evil.example%2f.img.example/", .malformedURL), ("https://evil%00.img.example/", .malformedURL),
            ("https://xn--bcher-kva.img.example/", nil), ("https://b\u{FC}cher.img.example/", .malformedURL),
            ("https://evil.example\u{FF0F}.img.example/", .malformedURL),
            ("https://\u{212A}.img.example/", .malformedURL),
            ("https://cdn\u{3002}example\u{3002}com/", .malformedURL), ("https://%ff.img.example/", .malformedURL),
            ("https://127.0.0.1/", .forbiddenHost), ("https://[::1]/", .forbiddenHost),
        ] as [(String, MediaFailure?)])
    func urls(_ url: String, _ expected: MediaFailure?) {
        expect(failure(url), is: expected)
    }

    @Test(
        "A URL longer than 8192 bytes is malformed",
        arguments: [(8192, nil), (8193, .malformedURL)] as [(Int, MediaFailure?)])
    func length(_ length: Int, _ expected: MediaFailure?) {
        let start = "https://cdn.example.com/"
        expect(failure(start + String(repeating: "a", count: length - start.utf8.count)), is: expected)
        // A fragment is not sent, but has to be remembered all the same.
        expect(failure(start + "#" + String(repeating: "a", count: length - start.utf8.count - 1)), is: expected)
    }

    @Test(
        "A URL's server is its host in lowercase, and its port",
        arguments: [
            ("https://CDN.example.com/a", "cdn.example.com:443"), ("http://cdn.example.com/a", "cdn.example.com:80"),
            ("https://cdn.example.com:0443/a", "cdn.example.com:443"), ("https://[::1]:8/", "[::1]:8"),
        ])
    func servers(_ url: String, _ server: String) throws {
        var settings = MediaSettings.sample("/nonexistent")
        settings.hosts = ["*", "*:8"].compactMap(HostPattern.init)
        try expect(WebAddress(url, settings).server, is: server)
    }

    @Test("Plain http is accepted if the settings allow it")
    func plain() { #expect(failure("http://cdn.example.com/a.jpg") { $0.allowsHTTP = true } == nil) }

    @Test(
        "The first bytes alone tell a media type",
        arguments: [
            ([0xFF, 0xD8, 0xFF, 0xE1], .jpeg), ([0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10], .png),
            (Array("GIF89a".utf8), .gif), (Array("GIF88a".utf8), nil), (Array("FORM1234AIFC".utf8), .aiff),
            (Array("RIFF1234WAVE".utf8), .wav), (Array("RIFF1234AVI ".utf8), .avi),
            (Array("RIFF1234WEBP".utf8), nil), (Array("\u{0}\u{0}\u{0}\u{18}ftypM4A ".utf8), .m4a),
            (Array("\u{0}\u{0}\u{0}\u{18}ftypisom".utf8), .mp4), (Array("\u{0}\u{0}\u{0}\u{18}ftypheic".utf8), nil),
            (Array("\u{0}\u{0}\u{0}\u{18}ftyp".utf8), nil), ([0, 0, 1, 0xBA], .mpeg), ([0, 0, 1, 0xB9], nil),
            (Array("ID3\u{4}".utf8), .mp3), ([0xFF, 0xFB, 0x90, 0], .mp3), ([0xFF, 0xFE, 0x3C, 0], nil),
            ([0xFF, 0xF1, 0x50, 0x80], nil), ([0xFF, 0xFB, 0xF0, 0], nil), ([0xFF], nil), ([], nil),
            (Array("<svg onload=".utf8), nil), (Array("%PDF-1.7".utf8), nil),
        ] as [([UInt8], MediaType?)])
    func types(_ head: [UInt8], _ type: MediaType?) {
        expect(MediaType(firstBytes: head), is: type)
    }
}
