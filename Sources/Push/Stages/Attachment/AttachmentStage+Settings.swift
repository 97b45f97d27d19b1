extension AttachmentStage {
    package static let entry = StageEntry("attachment") { settings in
        var members = MediaMembers(url: settings.value("from", .pointer, default: JSONPointer(member: "media-url")))
        members.type = settings.optional("type-to", .pointer)
        members.size = settings.optional("size-to", .pointer)
        let base = settings.required("public-base", .webFolder)
        var options = Options(members, publicBase: base ?? "")
        options.note = settings.value("note", .text, default: options.note)
        guard let media = media(members, &settings), base != nil else { return nil }
        return { [options] resources in
            AttachmentStage(options, source: try resources.media(media, resources.log), texts: resources.texts)
        }
    }

    private static func media(_ members: MediaMembers, _ settings: inout SettingReader) -> MediaSettings? {
        let folder = settings.required("store", .file)
        let known = settings.problems.count
        let hosts = settings.list("allow-hosts", .hostPattern)
        if hosts.isEmpty, settings.problems.count == known {
            settings.report("allow-hosts", "name the hosts that media may come from, or \"*\" for any public one")
        }
        var media = MediaSettings(members, folder: folder ?? "", hosts: hosts)
        media.allowsHTTP = settings.value("allow-http", .bool, default: media.allowsHTTP)
        let hour = Duration.seconds(3600)
        media.age = settings.value("keep-for", .duration(hour...hour * 87_600), default: media.age)
        media.capacity = settings.value(
            "keep-at-most", .byteSize(100_000_000...1_000_000_000_000_000), default: media.capacity)
        return folder == nil || hosts.isEmpty ? nil : media
    }
}

extension SettingFormat where Value == HostPattern {
    package static var hostPattern: Self {
        Self(
            parse: { text throws(SettingMismatch) in
                guard let pattern = HostPattern(text) else {
                    throw SettingMismatch(
                        expected: "a host such as cdn.example.com, *.example.com or cdn.example.com:8443")
                }
                return pattern
            }, render: \.description)
    }
}

extension SettingFormat where Value == String {
    /// A URL below which there is more: it ends in a slash, which may be left out.
    package static var webFolder: Self {
        Self(
            parse: { text throws(SettingMismatch) in
                let scheme = ["https://", "http://"].first { text.hasPrefix($0) }
                let isPlain = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\"<>\\?#@".utf8.contains($0) }
                guard let scheme, isPlain, !text.dropFirst(scheme.count).drop(while: { $0 == "/" }).isEmpty else {
                    throw SettingMismatch(expected: "a URL such as https://media.example.com/")
                }
                return text.hasSuffix("/") ? text : "\(text)/"
            }, render: { $0 })
    }
}
