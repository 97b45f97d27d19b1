import PushmillTestSupport
import Synchronization
import Testing

@testable import PushmillPayload
@testable import PushmillStages

@Suite("Settings of the attachment stage")
struct AttachmentSettingsTests {
    private final class Opened: Sendable {
        let settings = Mutex<MediaSettings?>(nil)
    }

    private func read(_ values: Setting) -> ([ConfiguredStage], problems: [String]) {
        var settings = SettingReader(["stages": [["attachment": values]]], folder: "/etc/pushmill")
        let stages = StageRegistry().read("stages", from: &settings)
        settings.finish()
        return (stages, settings.messages)
    }

    @Test("Missing settings have the documented defaults")
    func defaults() async throws {
        let (stages, problems) = read([
            "store": "media", "public-base": "https://m.example.com", "allow-hosts": "cdn.example.com",
        ])
        expect(problems, is: [])
        let opened = Opened()
        let resources = StageResources(
            log: { _, _, _ in }, watcher: FileWatcher { _, _, _ in },
            media: { settings, _ in
                opened.settings.withLock { $0 = settings }
                return ListedMedia()
            })
        let stage = try #require(stages.first)
        try await expect(stage.build(resources).name, is: "attachment")
        var expected = MediaSettings(
            MediaMembers(url: JSONPointer(member: "media-url")), folder: "/etc/pushmill/media",
            hosts: [try #require(HostPattern("cdn.example.com"))])
        expected.age = .seconds(7 * 24 * 3600)
        expected.capacity = 10_000_000_000
        expected.allowsHTTP = false
        #expect(opened.settings.withLock { $0 } == expected)
    }

    @Test("All mistakes are reported")
    func mistakes() {
        let host = "a host such as cdn.example.com, *.example.com or cdn.example.com:8443"
        let (_, problems) = read([
            "from": "media-url", "public-base": "media.example.com",
            "allow-hosts": ["cdn.example.com:0", "*.", "a/b"],
            "keep-for": "1m", "keep-at-most": "1GiBB", "allow-http": "yes", "type-to": "x", "size-to": "y",
            "notes": "x",
        ])
        expect(
            problems,
            is: [
                "stages.attachment.from: expected a JSON Pointer such as /aps/alert/body, found \"media-url\"",
                "stages.attachment.type-to: expected a JSON Pointer such as /aps/alert/body, found \"x\"",
                "stages.attachment.size-to: expected a JSON Pointer such as /aps/alert/body, found \"y\"",
                "stages.attachment.public-base: expected a URL such as https://media.example.com/, found \"media.example.com\"",
                "stages.attachment.store: is required",
                "stages.attachment.allow-hosts[0]: expected \(host), found \"cdn.example.com:0\"",
                "stages.attachment.allow-hosts[1]: expected \(host), found \"*.\"",
                "stages.attachment.allow-hosts[2]: expected \(host), found \"a/b\"",
                "stages.attachment.allow-http: expected true or false, found \"yes\"",
                "stages.attachment.keep-for: expected a duration such as 200ms, 30s or 5m, from 1h to 87600h, found \"1m\"",
                "stages.attachment.keep-at-most: expected a size such as 64MiB or 10MB, from 100MB to 1000000GB, found \"1GiBB\"",
                "stages.attachment.notes: unknown key; did you mean \"note\"?",
            ])
        let repeated = "names the member of from: choose another, or leave it out"
        expect(
            read([
                "store": "m", "public-base": "https://m/", "allow-hosts": ["*"], "from": "/u", "type-to": "/u",
                "size-to": "/u",
            ]).problems,
            is: ["stages.attachment.type-to: \(repeated)", "stages.attachment.size-to: \(repeated)"])
        expect(
            read(["store": "m", "public-base": "https://m/"]).problems,
            is: [
                "stages.attachment.allow-hosts: name the hosts that media may come from, or \"*\" for any public one"
            ])
    }

    @Test(
        "A public base must be the URL of a folder on the web",
        arguments: [
            ("https://m.example.com", "https://m.example.com/"), ("http://m.example.com/a/", "http://m.example.com/a/"),
            ("https://", nil), ("https:///", nil), ("ftp://m/", nil), ("https://m/?q", nil), ("https://m/#f", nil),
            ("https://u@m/", nil), ("https://m/a b", nil), ("https://m/\"", nil), ("https://mé/", nil), ("", nil),
        ] as [(String, String?)])
    func bases(_ text: String, _ base: String?) {
        expect((try? SettingFormat<String>.webFolder.parse(text, "")), is: base)
    }

    @Test(
        "A host pattern admits one host, all subdomains of one, or any host",
        arguments: [
            ("cdn.example.com", "cdn.example.com", true), ("CDN.example.com", "cdn.example.com", true),
            ("cdn.example.com", "a.cdn.example.com", false), ("cdn.example.com", "cdn.example.com.evil", false),
            ("*.example.com", "a.example.com", true), ("*.example.com", "a.b.example.com", true),
            ("*.example.com", "example.com", false), ("*.example.com", "badexample.com", false),
            ("*.example.com", ".example.com", false), ("*", "anything", true),
            ("[2606:4700::1]", "[2606:4700::1]", true),
        ])
    func hosts(_ pattern: String, _ host: String, _ isAdmitted: Bool) throws {
        try expect(#require(HostPattern(pattern)).admits(host, port: 443, isUsual: true), is: isAdmitted)
    }

    /// Other services of a trusted host are not trusted.
    @Test(
        "A host pattern without a port admits only the scheme's own ports",
        arguments: [
            ("cdn.example.com", 443, true, true), ("cdn.example.com", 80, true, true),
            ("cdn.example.com", 8443, false, false), ("*", 22, false, false), ("*.example.com", 8443, false, false),
            ("cdn.example.com:8443", 8443, false, true), ("cdn.example.com:8443", 443, true, false),
            ("*:8443", 8443, false, true), ("*.example.com:443", 443, true, true),
            ("[2606:4700::1]:8443", 8443, false, true), ("[2606:4700::1]", 8443, false, false),
        ])
    func ports(_ pattern: String, _ port: Int, _ isUsual: Bool, _ isAdmitted: Bool) throws {
        let parsed = try #require(HostPattern(pattern))
        let host = pattern.hasPrefix("[") ? "[2606:4700::1]" : "cdn.example.com"
        expect(parsed.admits(host, port: port, isUsual: isUsual), is: isAdmitted)
        expect(parsed.description, is: pattern)
    }

    @Test(
        "A host pattern with an invalid port is rejected",
        arguments: ["a:", "a:0", "a:65536", "a:+1", "a:080", "a:b", "*:x", "[::1]:"])
    func mistakenPorts(_ pattern: String) { #expect(HostPattern(pattern) == nil) }
}
