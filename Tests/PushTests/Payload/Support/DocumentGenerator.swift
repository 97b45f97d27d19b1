import PushmillTestSupport

/// Generates documents with everything that RFC 8259 allows, and the paths of their values.
struct DocumentGenerator {
    var random: SeededGenerator
    private(set) var paths: [[String]] = []

    private let hasDuplicates: Bool
    private var names = 0

    init(seed: UInt64, hasDuplicates: Bool = true) {
        random = SeededGenerator(seed: seed)
        self.hasDuplicates = hasDuplicates
    }

    mutating func document() -> DocumentModel {
        paths = []
        return container(isObject: true, path: [], depth: 0)
    }

    private mutating func value(path: [String], depth: Int) -> DocumentModel {
        paths.append(path)
        guard depth < 5, random.chance(35) else { return .scalar(scalar()) }
        return container(isObject: random.chance(65), path: path, depth: depth)
    }

    private mutating func container(isObject: Bool, path: [String], depth: Int) -> DocumentModel {
        var container = DocumentModel.Container(isObject: isObject, children: [])
        container.blank = space()
        for position in 0..<Int.random(in: 0...6, using: &random) {
            let (name, spelling) = nextName()
            let token = isObject ? name : "\(position)"
            container.children.append(
                DocumentModel.Child(
                    before: space(), name: isObject ? name : nil,
                    label: isObject ? "\(spelling)\(space()):\(space())" : "",
                    value: value(path: path + [token], depth: depth + 1), after: space()))
        }
        return .container(container)
    }

    private mutating func nextName() -> (name: String, spelling: String) {
        let number = "n\(UInt8.random(in: 0...9, using: &random))"
        let (name, spelling) = random.pick([
            ("a", #""a""#), ("b", #""b""#), ("a", #""\u0061""#), ("", #""""#), ("aps", #""aps""#), ("0", #""0""#),
            ("x/y", #""x/y""#), ("x/y", #""x\/y""#), ("m~n", #""m~n""#), ("é", #""é""#), ("é", #""\u00e9""#),
            ("👍🏽", #""👍🏽""#), ("👍", #""\ud83d\udc4d""#), ("\"", #""\"""#), ("\u{7F}", "\"\u{7F}\""),
            (number, "\"\(number)\""),
        ])
        guard !hasDuplicates else { return (name, spelling) }
        names += 1
        return ("\(name)\(names)", "\(spelling.dropLast())\(names)\"")
    }

    mutating func scalar() -> String {
        random.pick([
            "true", "false", "null", "0", "-0", "1", "-17", "12345678901234567890", "1e2", "1E+2", "1.50e-02", "-0.0",
            "3.141592653589793238462643383279", #""""#, #""plain""#, #""h\u00e9\/""#, #""\ud83d""#, #""\udc4d x""#,
            #""\ud83d\ud83d\udc4d""#, "\"Ελληνικά 漢字 👩‍👩‍👧‍👦 🇩🇪\"", #""\"\\\b\f\n\r\t\u0000\u001f""#,
            #""a string that is longer than a word or two, so that eight bytes at once are not enough""#,
            "\"1234567é\"", #""1234567\n""#, "\"\u{2028}\u{FFFF}\u{10FFFF}\"",
        ])
    }

    private mutating func space() -> String {
        random.chance(75) ? "" : random.pick([" ", "\n", "\t", "\r\n  ", "    "])
    }
}
