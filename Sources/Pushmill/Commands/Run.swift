import Glibc
import PushmillPayload
import PushmillStages
import PushmillTelemetry

extension Command {
    static let run = Command(
        name: "run", summary: "Runs the service until it is stopped",
        details: """
            SIGTERM or Ctrl-C finishes the messages in flight, commits and exits with 0; a
            second one exits at once. SIGHUP reloads keys, catalogs, contacts, the admin
            token and the log level.
            """,
        options: [.config]
    ) { invocation in
        let configuration = try invocation.configuration()
        configuration.process.apply()
        let signals = Signals.take([SIGTERM, SIGINT, SIGHUP])
        let log = Log(level: configuration.log.level)
        let writer = try explaining("cannot write the log") {
            try LogWriter(log, format: configuration.log.format)
        }
        defer { writer.close() }
        for warning in configuration.warnings {
            log.warning("a setting is probably a mistake", [.setting(warning.path), .error(text: warning.message)])
        }
        let rereading = Rereading(configuration)
        do throws(ProgramError) {
            let service = try await Service(configuration, log: log, signals: signals) {
                rereading.apply(to: log) { () throws(ProgramError) in try invocation.configurationAgain() }
            }
            return await service.run()
        } catch {
            error.tell(log)
            return error.exitCode
        }
    }
}

extension Invocation {
    /// Runs on the thread that reads every file again, which a pipe or a terminal might block forever.
    fileprivate func configurationAgain() throws(ProgramError) -> Configuration {
        let path = try required(.config)
        var status = stat()
        let isPipe = stat(path, &status) == 0 && [S_IFIFO, S_IFCHR].contains(status.st_mode & S_IFMT)
        if isPipe || InputFile.isStandardInput(path) {
            throw .unreadableConfiguration("\(path): the standard input or a pipe can be read only at the start")
        }
        return try configuration(path)
    }
}

extension ProgramError {
    /// Logs why a service ends before it has started, in the form of its other lines.
    fileprivate func tell(_ log: Log) {
        for message in messages { log.error("the service cannot start", [.error(text: message)]) }
    }
}
