import CPushmillOpenSSL
import CPushmillProcess
import FoundationEssentials
import Glibc
// Who writes a stage imports this module and no other: everything a stage is made of comes with it.
@_exported public import PushmillLocalization
@_exported public import PushmillPayload
@_exported public import PushmillStages

/// The whole program. An executable with stages of its own calls it with them:
///
///     await Program.main(stages: [LotteryStage.entry])
public enum Program {
    public static func main(stages: [StageEntry] = []) async -> Never {
        occupyStandardDescriptors()
        // Before anything secret is read, by whichever command; a setting shows it again to those who debug a service.
        _ = pushmill_show_memory(0)
        // While the process ends, threads of librdkafka's may be at a connection.
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
        let surroundings = Surroundings(
            registry: StageRegistry(adding: stages), environment: ProcessInfo.processInfo.environment,
            console: .standard)
        let arguments = Array(CommandLine.arguments.dropFirst())
        exit(Console.end(await commands.run(arguments, surroundings)).rawValue)
    }

    /// One that is closed would be given to the next file or socket, and be read and written as if it was the terminal. What
    /// stands there instead can be neither.
    private static func occupyStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    static let commands = CommandTable(commands: [
        .run, .demo, .apply, .capture, .replay, .redrive, .broker,
        .configCheck, .configShow, .catalogCheck,
        .contactsImport, .contactsExport, .contactsDelete,
        .badgesGet, .badgesSet, .badgesExport, .badgesDelete,
        .keysGenerate, .keysEncrypt, .keysDecrypt,
        .bench, .health, .version,
    ])
}
