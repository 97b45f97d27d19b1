import CPushmillOpenSSL
import CPushmillProcess
import FoundationEssentials
import Glibc
// The author of a stage imports only this module: everything that a stage needs comes with it.
@_exported public import PushmillLocalization
@_exported public import PushmillPayload
@_exported public import PushmillStages

/// The whole program. An executable with its own stages calls it with them:
///
///     await Program.main(stages: [LotteryStage.entry])
public enum Program {
    public static func main(stages: [StageEntry] = []) async -> Never {
        occupyStandardDescriptors()
        // Before any command reads a secret. A setting shows the memory again for debugging a service.
        _ = pushmill_show_memory(0)
        // Threads of librdkafka may still use a connection while the process ends.
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
        let surroundings = Surroundings(
            registry: StageRegistry(adding: stages), environment: ProcessInfo.processInfo.environment,
            console: .standard)
        let arguments = Array(CommandLine.arguments.dropFirst())
        exit(Console.end(await commands.run(arguments, surroundings)).rawValue)
    }

    /// A closed descriptor would be reused for the next file or socket, which would be read and written in place of the
    /// terminal. The stand-in permits neither.
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
