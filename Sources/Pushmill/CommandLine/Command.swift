/// One thing that the program can do.
package struct Command: Sendable {
    package typealias Run = @Sendable (Invocation) async throws(ProgramError) -> ExitCode

    /// One word or two: `run`, `config check`.
    let name: String
    /// A line for the list of commands.
    let summary: String
    /// Further lines for the command's own help.
    let details: String
    let options: [Option]
    let run: Run

    package init(
        _ name: String, _ summary: String, details: String = "", options: [Option] = [], run: @escaping Run
    ) {
        self.name = name
        self.summary = summary
        self.details = details
        self.options = options
        self.run = run
    }

    var words: [String] { name.split(separator: " ").map { String($0) } }
}
