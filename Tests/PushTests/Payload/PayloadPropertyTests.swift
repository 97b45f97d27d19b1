import PushmillPayload
import PushmillTestSupport
import Testing

@Suite("Random documents")
struct PayloadPropertyTests {
    @Test("A document without edits is rendered exactly as it was read", arguments: 0..<20)
    func untouched(seed: UInt64) throws {
        var generator = DocumentGenerator(seed: seed)
        var document = JSONDocument()
        for _ in 0..<25 {
            let text = " " + generator.document().text + "\n"
            try document.read(text)
            #expect(document.text.utf8.elementsEqual(text.utf8), "\(text)")
            #expect(!document.isEdited)
        }
    }

    @Test("An edited document differs only where it was edited", arguments: 0..<20)
    func edited(seed: UInt64) throws {
        var generator = DocumentGenerator(seed: seed)
        var document = JSONDocument()
        for _ in 0..<25 {
            var model = generator.document()
            let paths = generator.paths
            try document.read(model.text)
            for _ in 0..<Int.random(in: 1...8, using: &generator.random) {
                try edit(&document, &model, paths, &generator)
            }
            #expect(document.text.utf8.elementsEqual(model.text.utf8), "\(document.text) is not \(model.text)")
            expect(document.renderedByteCount, is: model.text.utf8.count)
            try expectSameValues(document, model, paths)
        }
    }

    @Test("A document rolled back to a savepoint is as it was then", arguments: 0..<20)
    func rolledBack(seed: UInt64) throws {
        var generator = DocumentGenerator(seed: seed)
        for _ in 0..<25 {
            var model = generator.document()
            let paths = generator.paths
            var document = try JSONDocument(model.text)
            var texts: [(savepoint: JSONDocument.Savepoint, text: String)] = [(document.savepoint(), document.text)]
            for _ in 0..<4 {
                try edit(&document, &model, paths, &generator)
                texts.append((document.savepoint(), document.text))
            }
            let copy = document
            for (savepoint, text) in texts.reversed() {
                document.rollback(to: savepoint)
                expect(document.text, is: text)
            }
            #expect(!document.isEdited)
            expect(copy.text, is: texts.last?.text)
        }
    }

    /// Makes one random edit of both the document and the model.
    private func edit(
        _ document: inout JSONDocument, _ model: inout DocumentModel, _ paths: [[String]],
        _ generator: inout DocumentGenerator
    ) throws {
        var path = paths.isEmpty || generator.random.chance(15) ? [] : generator.random.pick(paths)
        if path.isEmpty || generator.random.chance(25) {
            path.append(generator.random.pick(["new", "a", "0", "2", "-"]))
        }
        let pointer = try #require(JSONPointer(path: path))
        switch Int.random(in: 0..<4, using: &generator.random) {
        case 0: expect(document.remove(pointer), is: model.remove(at: path[...]), "remove \(pointer)")
        case 1: expect(document.set(-42, at: pointer), is: model.set("-42", at: path[...]), "set \(pointer)")
        case 2:
            let text = "Zoë\n\"\\\u{1}/👋"
            expect(
                document.set(text, at: pointer), is: model.set(#""Zoë\n\"\\\u0001/👋""#, at: path[...]), "set \(pointer)"
            )
        default:
            let json = Array((" " + generator.scalar() + " ").utf8)
            let spelling = String(decoding: json, as: UTF8.self).trimmed
            expect(document.set(json: json.span, at: pointer), is: model.set(spelling, at: path[...]), "set \(pointer)")
        }
    }

    /// Pointers read the model's values, from the edited document and from its rendered text read again.
    private func expectSameValues(_ document: JSONDocument, _ model: DocumentModel, _ paths: [[String]]) throws {
        let again = try JSONDocument(document.text)
        for path in paths {
            let pointer = try #require(JSONPointer(path: path))
            let expected = model[path[...]]?.text
            expect(document.text(at: pointer), is: expected, "\(pointer)")
            expect(again.text(at: pointer), is: expected, "\(pointer)")
        }
    }
}
