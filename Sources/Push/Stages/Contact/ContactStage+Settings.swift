extension ContactStage {
    package static let entry = StageEntry("contact") { settings in
        var options = Options()
        let source = settings.value("source", .contactSource, default: .state)
        checkPartitions(of: source, &settings)
        options.owner = settings.list("owner-from", .source, default: options.owner)
        options.fields = settings.list("replace", .pointer)
        options.unknown = settings.value("unknown", .name, default: options.unknown)
        options.isolates = settings.value("isolate", .bool, default: options.isolates)
        options.includesDecrypted = settings.value("in-decrypted", .bool, default: options.includesDecrypted)
        return { [options] resources in
            ContactStage(options, book: try resources.contacts(source), texts: resources.texts)
        }
    }

    /// Who follows the contacts is told by the setting; the stage looks them up all the same.
    private static func checkPartitions(of source: ContactSource, _ settings: inout SettingReader) {
        guard settings.value("co-partitioned", .bool, default: false) else { return }
        if case .topic = source { return }
        settings.report("co-partitioned", "only a topic has partitions, and the source is \(source)")
    }
}
