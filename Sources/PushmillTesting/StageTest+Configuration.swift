public import Pushmill
// `Configuration` contains types of it: swiftc compiles a file again only if a module changes that it imports.
import PushmillEngine
import PushmillReplay

extension StageTest {
    /// The chain of a configuration, with the stages of its program. Only `stages` is required; `delivery` counts too.
    ///
    /// `files` are the files that it names, by path: keys, catalogs, contacts. Contacts whose source is not a file are
    /// `contacts`, by owner and identifier: `["anna": ["c1": "Zoë"], "*": ["c9": "Everyone's"]]`. Throws all mistakes
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

    /// The chain of a configuration file, whose path is relative to the folder of the test's source.
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
        let candidate = try await configuration.candidate(
            counts: nil, time: .manual(clock), recorded: RecordedOutputs(), contacts: TestContacts(contacts),
            log: log.add)
        self.init(candidate, configuration.delivery.deadline, clock, badges, log, folder)
    }

    /// Resolves a path relative to the folder of a source file.
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
        // A name of which nothing visible is left does not count as a name.
        guard !bytes.isEmpty else { return false }
        body(bytes.span, TextDirection(of: bytes.span))
        return true
    }
}

extension Dictionary where Key == String {
    /// Compared by bytes, as stores do: as strings, different Unicode compositions of a text are equal.
    func value(named name: UnsafeRawBufferPointer) -> Value? {
        first { $0.key.utf8.elementsEqual(name) }?.value
    }
}
