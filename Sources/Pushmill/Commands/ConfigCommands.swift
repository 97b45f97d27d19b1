extension Command {
    static let configCheck = Command(
        name: "config check", summary: "Finds every mistake in a configuration at once",
        details: """
            Prints a line FILE:LINE:COLUMN for each mistake and exits with 78. Where there
            is none, it says what librdkafka has against properties that do not go
            together. What is allowed and hardly wanted is a warning. Of the files that the
            configuration names only key sets are looked at, for the ids in them.
            """,
        options: [.config]
    ) { invocation in
        let configuration = try invocation.configuration()
        try configuration.checkClients()
        for warning in configuration.warnings { invocation.console.error("warning: \(warning)") }
        invocation.console.output("\(try invocation.required(.config)): ok")
        return .success
    }

    static let configShow = Command(
        name: "config show", summary: "Prints the configuration as it takes effect",
        details: """
            Every default is filled in, environment variables are applied, paths are
            complete, and secrets are hidden.
            """,
        options: [.config]
    ) { invocation in
        invocation.console.output(YAMLText.render(try invocation.configuration().effective))
        return .success
    }
}
