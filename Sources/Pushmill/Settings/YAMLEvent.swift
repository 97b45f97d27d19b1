import PushmillStages

/// One step through a YAML document, with the spot where it starts.
struct YAMLEvent {
    enum Kind {
        case scalar(String, isPlain: Bool)
        case listStart
        case mapStart
        /// Of the innermost list or map.
        case end
        case alias(String)
        case documentStart
        case documentEnd
        case streamStart
        case streamEnd
    }

    let kind: Kind
    let anchor: String?
    let tag: String?
    let place: Place
}
