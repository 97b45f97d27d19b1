import PushmillPayload
import PushmillTestSupport
import Testing

@Suite("A notification's content")
struct NotificationContentTests {
    @Test(
        "A payload that cannot be a notification is rejected",
        arguments: [
            ("[1,2]", .notAnObject), ("null", .notAnObject), (#""aps""#, .notAnObject), ("{}", .withoutAps),
            (#"{"x":{"aps":{}}}"#, .withoutAps), (#"{"aps":"x"}"#, .withoutAps),
            (#"{"aps":{},"aps":null}"#, .withoutAps),
            (#"{"aps":"#, .notJSON(offset: 7, fault: .unexpectedEnd)),
        ] as [(String, PayloadError)])
    func refused(_ json: String, error: PayloadError) {
        #expect(throws: error) { try NotificationContent(json) }
    }

    @Test("A content can be read again after a rejected payload")
    func readAnew() throws {
        var content = try NotificationContent(#"{"x":[1,2,3],"aps":{"y":1,"alert":"a"}}"#)
        for refused in ["{}", "[", "[]", ""] {
            #expect(throws: PayloadError.self) { try content.read(refused) }
            #expect(!content.hasAlertText && !content.isMutable && content.body == nil)
        }
        try content.read(#"{"aps":{"alert":"b"}}"#)
        expect(content.body, is: "b")
    }

    @Test(
        "A content says whether its alert would show text",
        arguments: [
            (#""alert":"x""#, true), (#""alert":"""#, false), (#""alert":{}"#, false),
            (#""alert":{"title":"x"}"#, true),
            (#""alert":{"subtitle":"x"}"#, true), (#""alert":{"body":"x"}"#, true), (#""alert":{"loc-key":"x"}"#, true),
            (#""alert":{"title-loc-key":"x"}"#, true), (#""alert":{"subtitle-loc-key":"x"}"#, true),
            (#""alert":{"body":""}"#, false),
            (#""alert":{"body":"","title-loc-key":"K"}"#, true), (#""alert":{"loc-key":""}"#, false),
            (#""alert":{"body":1}"#, false),
            (#""alert":{"loc-args":["x"],"launch-image":"x"}"#, false), (#""alert":null"#, false),
            (#""alert":1"#, false),
            (#""alert":["x"]"#, false), (#""alert":"","alert":"x""#, true), (#""alert":{"body":"x","body":""}"#, false),
            (#""sound":"x""#, false), (#""\u0061lert":"x""#, true),
        ])
    func alertText(_ member: String, hasText: Bool) throws {
        try expect(NotificationContent("{\"aps\":{\(member)}}").hasAlertText, is: hasText)
    }

    @Test(
        "A content is mutable only if mutable-content is 1",
        arguments: [
            ("1", true), ("1.0", true), ("0", false), ("2", false), ("true", false), (#""1""#, false), ("null", false),
        ])
    func mutable(_ value: String, isMutable: Bool) throws {
        try expect(NotificationContent("{\"aps\":{\"mutable-content\":\(value)}}").isMutable, is: isMutable)
    }

    @Test(
        "Setting a text puts it in its place and removes its loc-key and loc-args",
        arguments: [
            (.body, #"{"body":"old"}"#, #"{"body":"x"}"#), (.body, "{}", #"{"body":"x"}"#), (.body, #""old""#, #""x""#),
            (.title, #""h\u00e9""#, #"{"body":"h\u00e9","title":"x"}"#),
            (.subtitle, #""""#, #"{"body":"","subtitle":"x"}"#),
            (.subtitle, "null", #"{"subtitle":"x"}"#), (.body, "[1]", #"{"body":"x"}"#),
            (.body, #"{"loc-key":"K"}"#, #"{"body":"x"}"#),
            (.body, #"{"loc-key":"K", "title" : "t" ,"loc-args":["a"]}"#, #"{"title" : "t","body":"x"}"#),
            (.title, #"{"title-loc-args":[],"title-loc-key":"K","loc-key":"L"}"#, #"{"loc-key":"L","title":"x"}"#),
            (.subtitle, #"{"subtitle-loc-key":"K","subtitle":"","subtitle-loc-key":"L"}"#, #"{"subtitle":"x"}"#),
            (.title, #"{"title":1,"title":2}"#, #"{"title":1,"title":"x"}"#),
        ] as [(AlertText, String, String)])
    func setsText(_ text: AlertText, alert: String, expected: String) throws {
        var content = try NotificationContent("{\"aps\":{\"alert\":\(alert), \"badge\":1}}")
        content.setText(text, to: "x")
        expect(content.rendered, is: "{\"aps\":{\"alert\":\(expected), \"badge\":1}}")
        expect(content.text(text), is: "x")
        content.setText(text, to: Array("é".utf8).span)
        expect(content.text(text), is: "é")
    }

    @Test(
        "Removing a text also removes its loc-key and loc-args",
        arguments: [
            (.body, #"{"body":"b", "loc-key":"K","title":"t","loc-args":[]}"#, #""alert":{"title":"t"},"#),
            (.title, #"{"title":"t","body":"b"}"#, #""alert":{"body":"b"},"#), (.title, #""b""#, #""alert":"b","#),
            (.body, #""b""#, ""),
            (.subtitle, "null", #""alert":null,"#),
        ] as [(AlertText, String, String)])
    func removesText(_ text: AlertText, alert: String, expected: String) throws {
        var content = try NotificationContent("{\"aps\":{\"alert\":\(alert),\"badge\":1}}")
        content.setText(text, to: nil)
        expect(content.rendered, is: "{\"aps\":{\(expected)\"badge\":1}}")
        #expect(content.text(text) == nil)
    }

    @Test("Setting a member creates a missing alert and a missing aps")
    func makesAlert() throws {
        var content = try NotificationContent(#"{"aps":{}}"#)
        content.title = "t"
        expect(content.rendered, is: #"{"aps":{"alert":{"title":"t"}}}"#)
        content.remove(try #require(JSONPointer("/aps")))
        expect(content.rendered, is: "{}")
        #expect(content.title == nil && !content.hasAlertText)
        content.badge = 2
        content.body = "b"
        expect(content.rendered, is: #"{"aps":{"badge":2,"alert":{"body":"b"}}}"#)
    }

    @Test("aps and the alert are found after they have been replaced")
    func replaced() throws {
        var content = try NotificationContent(#"{"aps":{"alert":"a","alert":{"body":"b"}}}"#)
        let savepoint = content.savepoint()
        expect(content.body, is: "b")
        content.set(json: Array(#"{"alert":{"body":"c"}}"#.utf8).span, at: try #require(JSONPointer("/aps")))
        expect(content.body, is: "c")
        content.set("d", at: try #require(JSONPointer("/aps/alert")))
        expect(content.body, is: "d")
        content.set("e", at: try #require(JSONPointer("/aps/alert/body")))
        expect(content.rendered, is: #"{"aps":{"alert":"e"}}"#)
        content.rollback(to: savepoint)
        expect(content.body, is: "b")
    }

    @Test("A pointer to one of the alert's texts reads, sets and removes that text")
    func textPointers() throws {
        let body = try #require(JSONPointer("/aps/alert/body"))
        let title = try #require(JSONPointer("/aps/alert/title"))
        var content = try NotificationContent(#"{"aps":{"alert":"a"}}"#)
        expect(content.string(at: body), is: "a")
        #expect(content.string(at: title) == nil)
        content.set("b", at: body)
        expect(content.rendered, is: #"{"aps":{"alert":"b"}}"#)
        content.set(Array("t".utf8).span, at: title)
        expect(content.rendered, is: #"{"aps":{"alert":{"body":"b","title":"t"}}}"#)
        expect(content.remove(body), is: true)
        expect(content.remove(body), is: false)
        expect(content.rendered, is: #"{"aps":{"alert":{"title":"t"}}}"#)
    }

    @Test("Members of aps can be read, set and removed")
    func apsMembers() throws {
        var content = try NotificationContent(#"{"aps":{"badge":3,"category":"c","thread-id":"t"}}"#)
        #expect(content.badge == 3 && content.category == "c" && content.threadIdentifier == "t")
        content.badge = 4
        content.category = nil
        content.threadIdentifier = "u"
        expect(content.rendered, is: #"{"aps":{"badge":4,"thread-id":"u"}}"#)
        content.badge = nil
        #expect(content.badge == nil && content.category == nil)
        expect(content.rendered, is: #"{"aps":{"thread-id":"u"}}"#)
    }

    @Test("A content gives the localization keys and arguments of its texts")
    func localization() throws {
        let content = try NotificationContent(
            #"{"aps":{"alert":{"title-loc-key":"T","title-loc-args":["a\n",2],"loc-key":1,"loc-args":"x"}}}"#)
        expect(content.localizationKey(of: .title), is: "T")
        #expect(content.localizationKey(of: .body) == nil && content.localizationKey(of: .subtitle) == nil)
        let arguments = try #require(content.localizationArguments(of: .title))
        var strings: [String?] = []
        content.document.forEachChild(of: arguments) { strings.append(content.document.string(of: $0)) }
        expect(strings, is: ["a\n", nil])
        #expect(content.localizationArguments(of: .body) == nil)
    }

    @Test("Known members are found however their names are spelled, and the last of a name counts")
    func spelledNames() throws {
        var content = try NotificationContent(
            #"{"a\u0070s":{"\u0061lert":{"bod\u0079":"a","body":"b","loc-ke\u0079":"K"},"mutabl\u0065-content":1}}"#)
        #expect(content.isMutable && content.body == "b" && content.localizationKey(of: .body) == "K")
        content.body = "c"
        #expect(content.body == "c" && content.localizationKey(of: .body) == nil)
        content.body = nil
        expect(content.rendered, is: #"{"a\u0070s":{"\u0061lert":{},"mutabl\u0065-content":1}}"#)
    }

    @Test("Edits, rollbacks and reads of a copy or of its original do not affect the other")
    func copies() throws {
        let json = #"{"aps":{"alert":{"title":"a","body":"b"}}}"#
        var content = try NotificationContent(json)
        let untouched = content.savepoint()
        let first = content
        content.title = "c"
        var second = content
        second.body = "d"
        content.rollback(to: untouched)
        #expect(first.rendered == json && content.rendered == json)
        expect(second.rendered, is: #"{"aps":{"alert":{"title":"c","body":"d"}}}"#)
        try content.read(#"{"aps":{"alert":"e"}}"#)
        #expect(first.title == "a" && second.title == "c" && content.body == "e")
        second.rollback(to: untouched)
        #expect(second.rendered == json && content.body == "e")
    }

    @Test("A payload that was rejected for a missing aps can be edited like any other")
    func editedAfterRefusal() throws {
        var content = try NotificationContent(#"{"x":[1,2,3],"aps":{"alert":{"title":"t","body":"b"},"y":1}}"#)
        #expect(throws: PayloadError.withoutAps) { try content.read(#"{"n":1}"#) }
        content.badge = 2
        #expect(content.title == nil && content.alert == nil && !content.hasAlertText)
        content.title = "new"
        expect(content.rendered, is: #"{"n":1,"aps":{"badge":2,"alert":{"title":"new"}}}"#)
    }

    @Test("Reading a payload clears the badge operation of the previous one")
    func operationReset() throws {
        var content = try NotificationContent(#"{"aps":{"alert":"a"}}"#)
        content.badgeOperation = .add(1)
        try content.read(#"{"aps":{"alert":"b"}}"#)
        #expect(content.badgeOperation == nil)
    }

    @Test(
        "Each of the alert's texts is found with its own key and arguments",
        arguments: [
            ("title", AlertText.title), ("subtitle", .subtitle), ("body", .body),
        ])
    func members(_ name: String, _ text: AlertText) throws {
        let key = text == .body ? "loc-key" : "\(name)-loc-key"
        let list = text == .body ? "loc-args" : "\(name)-loc-args"
        let content = try NotificationContent(
            #"{"aps":{"alert":{"launch-image":"i","\#(name)":"T","\#(key)":"K","\#(list)":["A"]},"badge":1}}"#)
        #expect(content.text(text) == "T" && content.localizationKey(of: text) == "K")
        expect(content.localizationArguments(of: text).map(content.document.childCount), is: 1)
        for other in AlertText.allCases where other != text { #expect(content.isWithout(other)) }
    }

    @Test("A member's name is known only if all its letters match")
    func similarNames() throws {
        let names = [
            "titlE", "subtitlE", "bodY", "title-loc-keY", "subtitle-loc-keY", "loc-keY", "title-loc-argS",
            "subtitle-loc-argS", "loc-argS", "titl", "titles",
        ]
        let alert = names.map { "\"\($0)\":\"x\"" }.joined(separator: ",")
        let content = try NotificationContent(
            "{\"aps\":{\"alert\":{\(alert)},\"mutable-contenT\":1,\"badgE\":1,\"categorY\":\"x\",\"thread-iD\":\"x\"}}")
        #expect(AlertText.allCases.allSatisfy(content.isWithout) && !content.hasAlertText && !content.isMutable)
        #expect(content.badge == nil && content.category == nil && content.threadIdentifier == nil)
    }

    @Test("Pointers read, set and remove values anywhere in the payload")
    func pointers() throws {
        func pointer(_ text: String) throws -> JSONPointer { try #require(JSONPointer(text)) }
        var content = try NotificationContent(#"{"aps":{"alert":"a"},"n":7,"l":[1,"x"]}"#)
        #expect(try content.kind(at: pointer("/l")) == .array && content.kind(at: pointer("/none")) == nil)
        #expect(content.kind(at: JSONPointer(.body)) == .string && content.kind(at: JSONPointer(.title)) == nil)
        #expect(try content.integer(at: pointer("/n")) == 7 && content.integer(at: pointer("/l/1")) == nil)
        let (nowhere, text) = (try pointer("/n/x"), Array("c".utf8))
        expect(content.set(8, at: nowhere), is: false)
        expect(content.set("y", at: nowhere), is: false)
        expect(content.set(text.span, at: nowhere), is: false)
        expect(content.set(json: Array("[2".utf8).span, at: try pointer("/k")), is: false)
        expect(content.remove(JSONPointer(.title)), is: false)
        expect(content.isEdited, is: false)
        expect(content.set(8, at: try pointer("/n")), is: true)
        expect(content.set("y", at: try pointer("/l/1")), is: true)
        expect(content.set(text.span, at: try pointer("/m")), is: true)
        expect(content.set("b", at: JSONPointer(.body)), is: true)
        expect(content.set(text.span, at: JSONPointer(.body)), is: true)
        expect(content.set(json: Array("[2]".utf8).span, at: try pointer("/k")), is: true)
        expect(content.remove(try pointer("/l/0")), is: true)
        expect(content.remove(try pointer("/l/1")), is: false)
        expect(content.rendered, is: #"{"aps":{"alert":"c"},"n":8,"l":["y"],"m":"c","k":[2]}"#)
        #expect(content.isEdited)
    }

    @Test("An alert's text can be set only to a JSON string, which also removes its loc-key")
    func textByJSON() throws {
        var content = try NotificationContent(#"{"aps":{"alert":{"loc-key":"K","loc-args":["x"]}}}"#)
        let body = JSONPointer(.body)
        for other in ["5", "{}", "null", "\"a", "[\"a\"]"] {
            expect(content.set(json: Array(other.utf8).span, at: body), is: false)
        }
        expect(content.set(5, at: body), is: false)
        #expect(!content.isEdited)
        expect(content.set(json: Array(#"" \u0048i""#.utf8).span, at: body), is: true)
        expect(content.rendered, is: #"{"aps":{"alert":{"body":" Hi"}}}"#)
    }

    @Test("A mark covers a value and all its contents, and disappears when the value is replaced")
    func marks() throws {
        var content = try NotificationContent(#"{"aps":{"alert":{"title":"t","body":"b"}},"o":{"l":[1,2]},"p":1}"#)
        let element = try #require(JSONPointer("/o/l/1").flatMap(content.node(at:)))
        let object = JSONPointer(member: "o")
        #expect(!content.isEdited && !content.isDecrypted(element))
        content.markDecrypted(try #require(content.node(at: object)))
        #expect(content.isDecrypted(element))
        #expect(!content.isDecrypted(try #require(content.node(at: JSONPointer(member: "p")))))
        content.set(json: Array("[3]".utf8).span, at: object)
        #expect(!content.isDecrypted(try #require(content.node(at: object))))

        content.setLocalized(.title, to: Array("T".utf8).span, isDecrypted: false)
        content.setLocalized(.body, to: Array("B".utf8).span, isDecrypted: true)
        let (title, body) = (try #require(content.node(of: .title)), try #require(content.node(of: .body)))
        #expect(content.isLocalized(title) && !content.isDecrypted(title))
        #expect(content.isLocalized(body) && content.isDecrypted(body))
        content.title = "x"
        content.setDecrypted(.body, to: Array("y".utf8).span)
        #expect(!content.isLocalized(title) && !content.isDecrypted(title))
        #expect(!content.isLocalized(body) && content.isDecrypted(body))
        expect(content.rendered, is: #"{"aps":{"alert":{"title":"x","body":"y"}},"o":[3],"p":1}"#)
    }

    @Test("A decrypted text is marked wherever it is put", arguments: ["/l/0", "/l/-", "/n/a/b", "/aps/alert/body"])
    func decryptedPlaces(place: String) throws {
        var content = try NotificationContent(#"{"aps":{"alert":"b"},"l":[1]}"#)
        let pointer = try #require(JSONPointer(place))
        expect(content.setDecrypted(Array("d".utf8).span, at: pointer), is: true)
        // Where `-` has put it.
        let place = place == "/l/-" ? try #require(JSONPointer("/l/1")) : pointer
        expect(content.string(at: place), is: "d")
        #expect(content.isDecrypted(try #require(content.node(at: place))))
        let blocked = try #require(JSONPointer("/l/x"))
        expect(content.setDecrypted(Array("d".utf8).span, at: blocked), is: false)
    }

    @Test("A string alert that becomes a dictionary keeps its body's escapes and marks")
    func movedBody() throws {
        var content = try NotificationContent(#"{"aps":{"alert":"\u00e9"}}"#)
        content.markDecrypted(try #require(content.node(of: .body)))
        content.title = "t"
        expect(content.rendered, is: #"{"aps":{"alert":{"body":"\u00e9","title":"t"}}}"#)
        expect(content.body, is: "é")
        #expect(content.isDecrypted(try #require(content.node(of: .body))))
        #expect(!content.isDecrypted(try #require(content.node(of: .title))))
    }

    @Test("An error's description says what is wrong and where")
    func descriptions() {
        expect(
            PayloadError.notJSON(offset: 3, fault: .invalidUTF8).description, is: "not JSON: invalid UTF-8 at byte 3")
        expect(PayloadError.tooDeep(offset: 9).description, is: "nested deeper than 128 at byte 9")
        expect(PayloadError.withoutAps.description, is: "no aps dictionary")
        expect(PayloadError.tooManyMembers.description, is: "more than 256 members")
    }

    @Test("No edit of a copy affects the original or another edited copy")
    func editedCopies() throws {
        let json = #"{"aps":{"alert":"a"},"n":1,"o":{"x":"y"}}"#
        let content = try NotificationContent(json)
        let (number, object) = (JSONPointer(member: "n"), JSONPointer(member: "o"))
        let other = try JSONDocument(#"{"m":[1]}"#)
        let member = try #require(other.member("m", of: other.root))
        let edits: [(inout NotificationContent) -> Void] = [
            { $0.badge = 2 }, { $0.title = "t" }, { $0.body = "b" }, { $0.category = "c" }, { $0.body = nil },
            { $0.set(2, at: number) }, { $0.set("x", at: number) },
            { $0.set(json: Array("[3]".utf8).span, at: object) }, { $0.remove(object) },
            { $0.copyDecrypted(member, of: other) }, { $0.setDecrypted(Array("d".utf8).span, at: object) },
            { $0.setLocalized(.subtitle, to: Array("s".utf8).span, isDecrypted: false) },
        ]
        for edit in edits {
            var first = content
            edit(&first)
            #expect(first.isEdited && !content.isEdited)
            let text = first.rendered
            expect(content.rendered, is: json)
            for another in edits {
                var second = first
                another(&second)
                expect(first.rendered, is: text)
                second = content
                another(&second)
                #expect(first.rendered == text && content.rendered == json)
            }
        }
        expect(content.node(at: object).map(content.isDecrypted), is: false)
    }
}

extension NotificationContent {
    fileprivate func isWithout(_ text: AlertText) -> Bool {
        self.text(text) == nil && localizationKey(of: text) == nil && localizationArguments(of: text) == nil
    }
}
