import Glibc
import PushmillPayload
import PushmillStages
import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("config, version and help")
struct ConfigCommandTests {
    @Test("config check says ok for a valid configuration") func ok() async throws {
        let folder = try ConfigurationFolder(Example.text)
        let terminal = Terminal()
        await expect(terminal.run(Program.commands, "config check --config \(folder.file)"), is: .success)
        expect(terminal.output, is: "\(folder.file): ok")
        expect(terminal.error, is: "")
    }

    @Test("config check warns of a doubtful setting and says ok") func warning() async throws {
        let folder = try ConfigurationFolder("stages: [{ decrypt: { keys: k, key-id-from: [recipient] } }]\n")
        let terminal = Terminal()
        await expect(terminal.run(Program.commands, "config check --config \(folder.file)"), is: .success)
        expect(terminal.output, is: "\(folder.file): ok")
        #expect(terminal.error.hasPrefix("warning: \(folder.file):1:"))
        #expect(terminal.error.contains(": stages.decrypt.key-binding: "))
    }

    @Test("config check prints every mistake with its place and exits with 78") func mistakes() async throws {
        let folder = try ConfigurationFolder("log: { level: loud }\nstaet: {}\n")
        let terminal = Terminal()
        let code = await terminal.run(
            Program.commands, "config check --config \(folder.file)", environment: ["PUSHMILL_LOG_FORMAT": "xml"])
        expect(code, is: .configuration)
        expect(code.rawValue, is: 78)
        expect(terminal.output, is: "")
        expect(
            terminal.error,
            is: """
                \(folder.file):1:15: log.level: expected error, warning, info, debug or trace, found "loud"
                \(folder.file):2:1: staet: unknown key; did you mean "state"?
                PUSHMILL_LOG_FORMAT: log.format: expected auto, json or text, found "xml"
                """)
    }

    @Test("config show prints effective values, with paths from the file's folder") func show() async throws {
        let folder = try ConfigurationFolder("state: { path: s.sqlite }\n")
        let terminal = Terminal()
        let code = await terminal.run(
            Program.commands, "config show --config \(folder.file)", environment: ["PUSHMILL_LOG_LEVEL": "debug"])
        expect(code, is: .success)
        #expect(terminal.output.contains("\nstate:\n  path: \(folder.path)/s.sqlite\n"))
        #expect(terminal.output.contains("\nlog:\n  level: debug\n  format: auto\n"))
    }

    @Test("The file with every setting is valid and leaves none out") func everySetting() async throws {
        let file = String(#filePath.split(separator: "/Tests/")[0]) + "/deploy/sample/every-setting.yaml"
        let terminal = Terminal()
        await expect(terminal.run(Program.commands, "config show --config \(file)"), is: .success)
        expect(terminal.error, is: "")
        let text = String(decoding: try FileBytes(path: file).bytes, as: UTF8.self)
        let settings = Self.settings(text)
        expect(settings.symmetricDifference(Self.settings(terminal.output)).sorted(), is: [])
        expect(StageRegistry.builtIn.map(\.name).filter { !settings.contains("stages/\($0)") }, is: [])
    }

    @Test("The file with every setting has the default of each that has one") func defaults() async throws {
        let sample = String(#filePath.split(separator: "/Tests/")[0]) + "/deploy/sample"
        // Settings without a default are as in that file.
        let folder = try ConfigurationFolder(
            """
            stages:
              - decrypt: { keys: \(sample)/keys.jwks.json }
              - localize: { catalog: \(sample)/catalog }
              - contact
              - badge
              - attachment:
                  store: /var/lib/pushmill/media
                  public-base: https://media.example.com/
                  allow-hosts: [cdn.example.com, "*.img.example.com", "cdn.example.com:8443"]

            """)
        let (terminal, plain) = (Terminal(), Terminal())
        await expect(terminal.run(Program.commands, "config show --config \(sample)/every-setting.yaml"), is: .success)
        await expect(plain.run(Program.commands, "config show --config \(folder.file)"), is: .success)
        let shown = Set(terminal.output.split(separator: "\n"))
        let defaults = plain.output.split(separator: "\n").filter { !$0.hasSuffix(":") && !$0.hasSuffix(": []") }
        #expect(defaults.count > 50)
        expect(defaults.filter { !shown.contains($0) }, is: [])
    }

    /// The settings in the lines, by their paths: two stages may have one of the same name. What every stage may have
    /// counts once.
    private static func settings(_ yaml: String) -> Set<String> {
        var path: [(indentation: Int, name: Substring)] = []
        var settings: Set<String> = []
        for line in yaml.split(separator: "\n") where line.drop(while: { $0 == " " }).first != "#" {
            let indentation = line.prefix { " -".contains($0) }.count
            path.removeAll { $0.indentation >= indentation }
            path.append((indentation, line.dropFirst(indentation).prefix { $0 != ":" }))
            var names = path.map(\.name)
            if names.count > 2, names[0] == "stages", ["when", "budget"].contains(names[2]) { names.remove(at: 1) }
            settings.insert(names.joined(separator: "/"))
        }
        return settings
    }

    @Test("A configuration file that cannot be read is a configuration error") func unreadable() async throws {
        let folder = try ConfigurationFolder(String(repeating: "# nothing to see here\n", count: 50_000))
        for (path, reason) in [
            ("\(folder.path)/none.yaml", "No such file or directory"), (folder.path, "Is a directory"),
            (folder.file, "File too large"),
        ] {
            let terminal = Terminal()
            await expect(terminal.run(Program.commands, "config check --config \(path)"), is: .configuration)
            expect(terminal.error, is: "pushmill: \(path): \(reason)")
        }
    }

    @Test("A relative configuration path is resolved in the current folder") func relative() throws {
        let current = try #require(getcwd(nil, 0))
        defer { free(current) }
        expect(ConfigurationSource.folder(of: "Package.swift"), is: "\(String(cString: current))/")
    }

    @Test("version and --version say the same", arguments: ["version", "--version"]) func version(line: String) async {
        let terminal = Terminal()
        await expect(terminal.run(Program.commands, line), is: .success)
        expect(terminal.output, is: "pushmill \(Version.current)")
    }

    @Test("Every command has help, within 80 columns", arguments: Program.commands.commands.map(\.name))
    func help(name: String) async {
        let terminal = Terminal()
        await expect(terminal.run(Program.commands, "\(name) --help"), is: .success)
        #expect(terminal.output.hasPrefix("Usage: pushmill \(name)"))
        #expect(terminal.output.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }
}
