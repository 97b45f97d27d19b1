import PushmillStages
import PushmillTestSupport
import Testing

@testable import Pushmill

@Suite("The command line")
struct CommandTableTests {
    static let explain = Option.flag("explain", "tells of each stage")
    static let header = Option.repeated("header", "NAME=VALUE", "a header of the message")
    static let rate = Option.value("rate", "N", "messages a second")
    static let file = Option.operand("FILE", "what to read")

    static let table = CommandTable(commands: [
        Command(name: "apply", summary: "Runs the chain", options: [file, .config, explain, header, rate]) {
            invocation throws(ProgramError) in
            let rate = try invocation.value(rate, .integer(1...100)) ?? 0
            invocation.surroundings.console.output(
                "\(try invocation.required(file)) \(try invocation.required(.config)) \(invocation.flag(explain)) "
                    + "\(invocation.texts(header)) \(rate)")
            return .different
        },
        Command(name: "config check", summary: "Finds mistakes") { _ in .success },
        Command(name: "config show", summary: "Shows what there is") { _ in .success },
        Command(name: "fail", summary: "Fails", options: [.operand("HOW", "which way", isRequired: false)]) {
            invocation throws(ProgramError) in
            switch invocation.text(.operand("HOW", "")) {
            case "data": throw .badData("line 3 is no record")
            case "configuration": throw .unreadableConfiguration("f.yaml: No such file")
            default: throw .internalFailure("out of luck")
            }
        },
    ])

    @Test(
        "Options take their values after = or a space, in any order",
        arguments: [
            ("apply --config c f", "f c false [] 0"), ("apply f --config=c", "f c false [] 0"),
            ("apply --explain --rate=5 f --config c --header a=b --header=c=d", "f c true [\"a=b\", \"c=d\"] 5"),
            ("apply --config=--c -- --f", "--f --c false [] 0"), ("apply --config= -", "-  false [] 0"),
            ("apply --config=\u{301}c f", "f \u{301}c false [] 0"),
        ])
    func options(line: String, output: String) async {
        let terminal = Terminal()
        let code = await terminal.run(Self.table, line)
        expect(code, is: .different)
        expect(terminal.output, is: output)
        expect(terminal.error, is: "")
    }

    @Test(
        "A mistake is reported, with a suggestion if there is one, and exits with 64",
        arguments: [
            ("aply", "unknown command 'aply'; did you mean \"apply\"?"), ("zzz", "unknown command 'zzz'"),
            ("config", "'config' needs one of: check, show"),
            ("config chek", "unknown command 'config chek'; did you mean \"check\"?"),
            ("config check x", "unexpected argument 'x' for 'config check'"),
            ("apply f", "'apply' needs --config FILE"), ("apply --config c", "'apply' needs FILE"),
            ("apply --confg c f", "'apply' has no option --confg; did you mean \"--config\"?"),
            ("apply -x", "'apply' has no option -x"), ("apply f --config", "--config FILE: the value is missing"),
            ("apply f --config --explain", "--config FILE: the value is missing"),
            ("apply f --config a --config b", "--config is given twice"),
            ("apply f --explain=yes", "--explain takes no value"),
            ("apply f --config c --rate 101", "--rate N: expected an integer from 1 to 100, found '101'"),
            ("--explain", "unknown command '--explain'"),
        ])
    func mistakes(line: String, message: String) async {
        let terminal = Terminal()
        let code = await terminal.run(Self.table, line)
        expect(code, is: .usage)
        let command = ["config check", "apply"].first { line.hasPrefix("\($0) ") }
        let hint = command.map { "'pushmill \($0) --help' shows its options." }
        expect(terminal.error, is: "pushmill: \(message)\n\(hint ?? "'pushmill --help' lists the commands.")")
        expect(terminal.output, is: "")
    }

    @Test(
        "Help is printed as output and exits with 0",
        arguments: ["help", "--help", "-h", "config --help", "help config", "help apply", "apply -h"])
    func help(line: String) async {
        let terminal = Terminal()
        let code = await terminal.run(Self.table, line)
        expect(code, is: .success)
        expect(terminal.error, is: "")
        let first =
            line.contains("apply") ? "Usage: pushmill apply --config FILE" : "Usage: pushmill <command> [options]"
        #expect(terminal.output.hasPrefix(first))
        expect(terminal.output.contains("  apply "), is: (!line.contains("apply") && !line.contains("config")))
    }

    @Test("Without a command the help is printed as a usage error") func nothing() async {
        let terminal = Terminal()
        let code = await terminal.run(Self.table, "")
        expect(code, is: .usage)
        #expect(terminal.error.hasPrefix("Usage: pushmill <command>"))
    }

    @Test("The help of a command is made from its options") func commandHelp() {
        let command = Command(
            name: "bench run", summary: "Measures something", details: "More about it.",
            options: [
                Self.file, .operand("OTHER", "one more", isRequired: false), .config, Self.header,
                .value(
                    "for", "TIME", "how long it goes on; what is left over then is counted and told, but not waited for"
                ),
            ]
        ) { _ in .success }
        expect(
            HelpText.command(command),
            is: """
                Usage: pushmill bench run --config FILE [options] FILE [OTHER]

                Measures something

                More about it.

                Options:
                  FILE                 what to read
                  OTHER                one more
                  --config FILE        the configuration (required)
                  --header NAME=VALUE  a header of the message (may be repeated)
                  --for TIME           how long it goes on; what is left over then is counted
                                       and told, but not waited for
                  --help               shows this help
                """)
    }

    @Test(
        "Every kind of failure has its exit code",
        arguments: [
            ("fail", ExitCode.internalFailure, "pushmill: out of luck"),
            ("fail data", .badData, "pushmill: line 3 is no record"),
            ("fail configuration", .configuration, "pushmill: f.yaml: No such file"),
        ])
    func failures(line: String, expected: ExitCode, message: String) async {
        let terminal = Terminal()
        let code = await terminal.run(Self.table, line)
        expect(code, is: expected)
        expect(terminal.error, is: message)
    }
}
