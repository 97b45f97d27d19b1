public import Pushmill
import PushmillReplay

extension StageTest {
    /// The chain of a configuration, with the stages of its program. Only `stages` need be there, and `delivery` counts too.
    ///
    /// `files` are what it names, by their paths: keys, catalogs, contacts. Contacts whose source is no file are
    /// `contacts`, by owner and identifier: `["anna": ["c1": "Zoë"], "*": ["c9": "Everyone's"]]`. Throws every mistake
    /// at once, as `pushmill config check` prints them.
    public convenience init(
        configuration yaml: String, stages: [StageEntry] = [], files: [String: String] = [:],
        contacts: [String: [String: String]] = [:], badges: [String: Int32] = [:]
    ) async throws {
        let folder = try ScratchFolder("pushmill-test", files: files.mapValues { Array($0.utf8) })
        try await self.init(stages, contacts, badges, folder) { source in
            try source.read(Array(yaml.utf8), name: "configuration", folder: folder.path)
        }
    }

    /// The chain of a configuration in a file, whose path starts at the folder of the test's source.
    public convenience init(
        configurationFile path: String, stages: [StageEntry] = [], contacts: [String: [String: String]] = [:],
        badges: [String: Int32] = [:], beside source: String = #filePath
    ) async throws {
        try await self.init(stages, contacts, badges, nil) { try $0.read(file: Self.path(path, beside: source)) }
    }

    private convenience init(
        _ stages: [StageEntry], _ contacts: [String: [String: String]], _ badges: [String: Int32],
        _ folder: ScratchFolder?, _ read: (ConfigurationSource) throws -> Configuration
    ) async throws {
        let configuration = try read(
            ConfigurationSource(registry: StageRegistry(adding: stages), environment: [:]))
        let (clock, log) = (ManualTime(), TestLog())
        let silent = Console(output: { _ in }, error: { _ in })
        let candidate = try await configuration.candidate(
            silent, counts: nil, time: .manual(clock), recorded: RecordedOutputs(), contacts: TestContacts(contacts),
            log: log.add)
        self.init(candidate, configuration.delivery.deadline, clock, badges, log, folder)
    }

    /// A path that starts at the folder of a source.
    static func path(_ path: String, beside source: String) -> String {
        path.hasPrefix("/") ? path : "\(source[..<(source.lastIndex(of: "/") ?? source.startIndex)])/\(path)"
    }
}

private final class TestContacts: ContactBook {
    private let names: [String: [String: String]]

    init(_ names: [String: [String: String]]) { self.names = names }

    func find(_ id: RawSpan, of owner: RawSpan, _ body: (Span<UInt8>, TextDirection) -> Void) -> Bool {
        guard let own = owner.withUnsafeBytes({ names.value(named: $0) }),
            let name = id.withUnsafeBytes({ own.value(named: $0) })
        else { return false }
        let bytes = ContactName.clean(name.utf8Span.span.bytes)
        // A name of which nothing is left to see is none.
        guard !bytes.isEmpty else { return false }
        body(bytes.span, TextDirection(of: bytes.span))
        return true
    }
}

extension Dictionary where Key == String {
    /// By its bytes, as stores find it: texts that are composed in other ways are equal as such.
    func value(named name: UnsafeRawBufferPointer) -> Value? {
        first { $0.key.utf8.elementsEqual(name) }?.value
    }
}
