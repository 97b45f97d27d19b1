import PushmillLocalization
package import PushmillPayload

/// Replaces a URL with that of stored media. If there is none in time, the URL stays and the text gets a short note. A
/// class, because each copy of a struct would retain its parts.
package final class AttachmentStage: Stage {
    package let name = "attachment"
    package let results = [.word("unfetched")] + MediaFailure.allCases.map { StageResult.failed($0.reason) }
    package static let usualNote = "📷"

    private let members: MediaMembers
    private let publicBase: String
    private let note: [UInt8]
    package let source: any MediaSource

    /// `publicBase` ends in a slash; `note` is a key of the catalog, or the text itself, and empty for none.
    package init(
        _ members: MediaMembers, publicBase: String, note: String = usualNote, source: any MediaSource
    ) {
        self.members = members
        self.publicBase = publicBase
        self.note = Array(note.utf8)
        self.source = source
    }

    /// Most messages have no media, and media sent to many is known after the first.
    package func didReceiveAtOnce(
        _ content: inout NotificationContent, context: StageContext
    ) -> StageResult? {
        guard let node = attachment(in: content) else { return .skipped }
        do throws(MediaFailure) {
            guard let media = try source.known(at: try url(at: node, in: content), for: context) else { return nil }
            attach(media, to: &content)
            return .ok
        } catch {
            addNote(to: &content, context)
            return .failed(error.reason)
        }
    }

    package func didReceive(_ content: inout NotificationContent, context: StageContext) async -> StageResult {
        guard let node = attachment(in: content) else { return .skipped }
        do throws(MediaFailure) {
            let url = try url(at: node, in: content)
            guard let media = try await source.media(at: url, for: context) else { return .word("unfetched") }
            attach(media, to: &content)
            return .ok
        } catch {
            addNote(to: &content, context)
            return .failed(error.reason)
        }
    }

    package func timeWillExpire(_ content: inout NotificationContent, context: StageContext) -> StageResult {
        guard attachment(in: content) != nil else { return .skipped }
        addNote(to: &content, context)
        return .expired
    }

    /// Nil also for null and an empty text, which encoders write for a missing value.
    private func attachment(in content: NotificationContent) -> JSONNode? {
        guard let node = content.node(at: members.url) else { return nil }
        switch content.document.kind(of: node) {
        case .null: return nil
        case .string: return content.document.hasText(node) ? node : nil
        default: return node
        }
    }

    private func url(at node: JSONNode, in content: NotificationContent) throws(MediaFailure) -> String {
        guard let url = content.document.string(of: node) else { throw .malformedURL }
        return url
    }

    private func attach(_ media: Media, to content: inout NotificationContent) {
        content.set(publicBase + media.name, at: members.url)
        if let member = members.type { content.set(media.type.rawValue, at: member) }
        if let member = members.size, let size = media.size { content.set(size, at: member) }
    }

    /// Appends to the first text that is shown. A text that the device will look up by its key cannot take the note.
    private func addNote(to content: inout NotificationContent, _ context: StageContext) {
        guard !note.isEmpty, let alert = content.alert else { return }
        for place in [AlertText.body, .subtitle, .title] where content.key(of: place, in: alert) == nil {
            guard var text = content.withText(place, { text in text.withUnsafeBufferPointer { Array($0) } }),
                !text.isEmpty
            else { continue }
            text += [UInt8(ascii: " ")] + context.text(of: note, for: content)
            return content.amendText(place, to: text.span)
        }
    }
}

extension AttachmentStage {
    package static let entry = StageEntry("attachment") { settings in
        var members = MediaMembers(url: settings.value("from", .pointer, default: JSONPointer(member: "media-url")))
        members.type = settings.optional("type-to", .pointer)
        members.size = settings.optional("size-to", .pointer)
        let others = [("type-to", members.type), ("size-to", members.size)]
        for (index, (key, member)) in others.enumerated() {
            guard let member else { continue }
            let isFirst = member == members.url
            guard isFirst || index > 0 && member == members.type else { continue }
            settings.report(key, "names the member of \(isFirst ? "from" : "type-to"): choose another, or leave it out")
        }
        let base = settings.required("public-base", .webFolder)
        let note = settings.value("note", .text, default: usualNote)
        guard let media = media(members, &settings), let base else { return nil }
        return { [members] resources in
            let source = try resources.media(media, resources.log)
            return AttachmentStage(members, publicBase: base, note: note, source: source)
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
        Self(expected: "a host such as cdn.example.com, *.example.com or cdn.example.com:8443") { HostPattern($0) }
    }
}

extension SettingFormat where Value == String {
    /// A URL that paths can be appended to: it ends in a slash, which the configuration may leave out.
    package static var webFolder: Self {
        Self(expected: "a URL such as https://media.example.com/") { text in
            let scheme = ["https://", "http://"].first { text.hasPrefix($0) }
            let isPlain = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\"<>\\?#@".utf8.contains($0) }
            guard let scheme, isPlain, !text.dropFirst(scheme.count).drop(while: { $0 == "/" }).isEmpty else {
                return nil
            }
            return text.hasSuffix("/") ? text : "\(text)/"
        }
    }
}
