import PushmillStages

@testable import Pushmill

extension Setting {
    /// The setting as one line of JSON-like text, for comparisons.
    var compact: String {
        switch value {
        case .null: "null"
        case .scalar(let text): "'\(text)'"
        case .list(let items): "[\(items.map(\.compact).joined(separator: ","))]"
        case .map(let members): "{\(members.map { "\($0.key):\($0.value.compact)" }.joined(separator: ","))}"
        }
    }
}

extension YAMLDocument {
    init(_ text: String) { self.init(Array(text.utf8), file: "f.yaml") }
}
