/// One node of a configuration, whatever format it was written in. Scalars are text: what they mean is decided by who
/// reads them.
public struct Setting: Sendable {
    public enum Content: Sendable {
        case null
        case scalar(String)
        case list([Setting])
        /// In the order of the file; no key comes twice.
        case map([Member])
    }

    public struct Member: Sendable {
        public let key: String
        /// Where the key stands.
        public let place: Place
        public let value: Setting

        public init(key: String, place: Place, value: Setting) {
            self.key = key
            self.place = place
            self.value = value
        }
    }

    public let place: Place
    public let value: Content

    public init(place: Place, value: Content) {
        self.place = place
        self.value = value
    }
}
