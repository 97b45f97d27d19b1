extension Command {
    static let configCheck = Command(
        name: "config check", summary: "Reports every mistake in a configuration at once",
        details: """
            Prints a line FILE:LINE:COLUMN for each mistake and exits with 78. If there is
            none, reports combinations of properties that librdkafka rejects. Settings that
            are allowed but probably mistakes are warnings. Of the files that the
            configuration names, only key sets are read, for the ids in them.
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
        name: "config show", summary: "Prints the effective configuration",
        details: """
            Defaults are filled in, environment variables are applied, paths are absolute,
            and secrets are hidden.
            """,
        options: [.config]
    ) { invocation in
        invocation.console.output(YAMLText.render(try invocation.configuration().effective))
        return .success
    }
}
