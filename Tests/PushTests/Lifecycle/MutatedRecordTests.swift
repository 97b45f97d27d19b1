import PushmillCiphers
import PushmillTestSupport
import Testing

@testable import PushmillPayload
@testable import PushmillStages

@Suite("Mutated input through the chain and the encoder")
struct MutatedRecordTests {
    @Test("Every mutated record gets an outcome, a readable value and an envelope that reads back")
    func mutated() async throws {
        var mutations = RecordMutations(generator: SeededGenerator(seed: 20_241), payloads: Self.payloads)
        let outcomes = try await mutations.run(through: Self.chain())
        expect(Set(outcomes.keys), is: Set(Outcome.allCases))
    }

    private static let payloads = [
        #"{"aps":{"alert":{"title":"T","body":"Hello"},"mutable-content":1,"badge":1,"category":"A"},"x":[1e2,{"y":"\ud83d"}]}"#,
        #"{"aps":{"alert":"Hello","mutable-content":1.0,"badge":-0},"aps":{"alert":"Again","mutable-content":1}}"#,
        #"{"aps":{"alert":{"loc-key":"K","loc-args":["a",1]},"mutable-content":1}}"#, #"{"aps":{"badge":0}}"#,
        #"{"specversion":"1.0","id":"e","data":{"aps":{"alert":"Hi","mutable-content":1}},"datacontenttype":"a/b"}"#,
        #"{"id":"e","data_base64":"eyJhcHMiOnsiYWxlcnQiOiJIaSIsIm11dGFibGUtY29udGVudCI6MX19"}"#,
    ]

    private static func chain() -> Chain {
        let long = ScriptedStage(
            "long", isImmediate: true,
            receive: { content, _ in
                content.title = String(repeating: content.body ?? "é", count: 300)
                return .ok
            },
            expire: { content, _ in
                content.body = nil
                return .expired
            })
        return Chain(
            [
                ChainLink(ScriptedStage.marking("a", isImmediate: false)), ChainLink(long),
                ChainLink(ScriptedCounter()),
            ], time: .manual(ManualTime()))
    }

    @Test("Every mutated record gets an outcome in a chain of the built-in stages too")
    func mutatedForStages() async throws {
        let catalog = try CatalogFixture([
            "en.lproj/Localizable.strings": #"IN = "%1$@ in %2$@"; NEWS = "You have news";"#,
            "de.lproj/Localizable.strings": #"IN = "In %2$@: %1$@"; COUNT = "%d Stück";"#,
        ])
        let ring = DecryptKeys.ring
        var options = DecryptOptions()
        options.formats.append(.openSSL)
        options.fields = [.init(), .init(from: JSONPointer(member: "sealed"), to: .merge, members: ["body", "chat"])]
        let chain = Chain(
            [
                ChainLink(DecryptStage(options, keys: try ReloadableFile(path: "keys") { _, _ in ring })),
                ChainLink(try catalog.stage()),
                ChainLink(ContactStage(.init(), book: ListedContacts.sample)),
                ChainLink(BadgeStage(mode: .increment)),
            ], time: .manual(ManualTime()))
        var mutations = RecordMutations(
            generator: SeededGenerator(seed: 20_261), payloads: Self.alerts + (try Self.ciphertexts()))
        let outcomes = try await mutations.run(through: chain)
        expect(Set(outcomes.keys), is: Set(Outcome.allCases))
        #expect(outcomes[.modified, default: 0] > Mutations.count / 5)
    }

    private static let alerts = [
        #"{"aps":{"alert":{"title-loc-key":"IN","title-loc-args":["{contact:c1}","x"],"body":"b"},"mutable-content":1,"badge":1}}"#,
        #"{"aps":{"alert":{"loc-key":"COUNT","loc-args":[12]},"mutable-content":1,"badge":0}}"#,
        #"{"aps":{"alert":"{contact:c2} {contact:c9} \u007bcontact:c\u0031}","mutable-content":1,"badge":2147483647}}"#,
        #"{"id":"e","data":{"aps":{"alert":{"loc-key":"NEWS"},"mutable-content":1}}}"#,
    ]

    /// Payloads of each form that the decrypt stage opens; their plaintexts are for the stages after it.
    private static func ciphertexts() throws -> [String] {
        let texts = [
            ("ENCRYPTED_DATA", "Hi {contact:c1}"), ("ENCRYPTED_DATA", ""), ("sealed", #"{"title":"","body":""}"#),
            ("sealed", #"{"title":"{contact:c3}","subtitle":"s","n":[1e2]}"#),
        ]
        return try DecryptKeys.uses.flatMap { name, _ in
            let form = try #require(DecryptKeys.form(of: name))
            return try texts.map { member, text in
                let sealed = try DecryptKeys.seal(text, form, name)
                return #"{"\#(member)":"\#(sealed)","aps":{"alert":{"body":"?"},"mutable-content":1,"badge":1}}"#
            }
        }
    }
}
